"""The Pinch server: prunes agent conversations for LLM routers and records what it saved."""

__version__ = "0.1.0"
