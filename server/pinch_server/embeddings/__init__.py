"""Embeddings: the model inside the install, the HTTP round trip, and the cache in front of both."""
