"""The model-written filter: prompts, the sandbox its programs run in, and what becomes of their output."""
