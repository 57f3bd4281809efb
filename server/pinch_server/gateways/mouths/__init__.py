"""The HTTP endpoints that gateways already call, one file each."""
