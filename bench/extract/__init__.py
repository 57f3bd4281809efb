"""What extraction is worth over real conversations, with a script in the place of a good filter writer."""
