"""Extraction's rules as pure functions: what may be asked of a model, and what of its answer may be used."""
