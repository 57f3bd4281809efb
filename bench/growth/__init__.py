"""How the cost of a call grows with the conversation, its messages, and the calls under way."""
