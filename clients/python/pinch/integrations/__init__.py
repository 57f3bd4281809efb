"""Pinch plugged into other software, one module each; each needs that software, and nothing else more."""
