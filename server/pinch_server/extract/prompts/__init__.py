"""What the model is told: pure functions from a task to a prompt."""
