"""What a call costs beside a raw gRPC echo of the same bytes."""
