"""Wire dialects: each reads a provider's JSON into the core's view and writes edits back byte for byte."""
