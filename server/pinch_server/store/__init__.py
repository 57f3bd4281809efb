"""Where decisions are kept: a journal before the reply, a database after it. Only this package knows SQL."""
