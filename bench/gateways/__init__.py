"""What Pinch adds to a request: straight to a provider, through Envoy, and with Pinch beside it."""
