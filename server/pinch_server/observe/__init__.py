"""What Pinch tells its operators about itself: metrics and logs, never conversation text."""
