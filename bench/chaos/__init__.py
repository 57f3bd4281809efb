"""A real service under real faults: what its callers see, what its metrics say, and when it is well again."""
