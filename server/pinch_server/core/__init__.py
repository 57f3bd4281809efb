"""The pruning rules themselves: pure functions and frozen values, no input or output of any kind."""
