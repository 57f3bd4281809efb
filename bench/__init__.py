"""The measured goals and the demo: each is one command, ``python -m bench.NAME``."""
