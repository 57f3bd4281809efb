"""The gRPC door: protobuf in and out, status codes, interceptors and the server itself."""
