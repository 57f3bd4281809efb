"""What every call to another server needs, whoever makes it: a loop to wait on, a breaker that spares it."""
