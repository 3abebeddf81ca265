"""What comes from outside the model: real clients, saved runs of theirs, and the logs of a real broker."""
