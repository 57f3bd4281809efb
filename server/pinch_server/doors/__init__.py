"""Who may come in: certificates, tokens, and the table of who may call what; without gRPC and HTTP."""
