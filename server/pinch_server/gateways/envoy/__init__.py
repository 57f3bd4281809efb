"""Envoy's external processing: a body is pruned on its way, and its answer read for what was used."""
