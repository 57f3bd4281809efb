"""The HTTP port: pages that operators and their probes read."""
