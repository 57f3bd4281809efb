"""The same conversations through what others offer: time, size, and whether the outcome can be sent."""
