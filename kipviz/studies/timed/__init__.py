"""Studies in seconds, on the timed clock."""
