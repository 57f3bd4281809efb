"""A small router that shows the client at work: it prunes, measures, picks a model and forwards."""
