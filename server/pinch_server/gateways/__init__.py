"""What speaks another's protocol: the HTTP mouths that gateways call, and Envoy's external processing."""
