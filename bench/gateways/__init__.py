"""What Pinch adds to a request: straight to a provider, through gateways, and with Pinch beside them."""
