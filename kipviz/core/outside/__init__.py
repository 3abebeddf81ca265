"""What comes from outside and goes out: files, input, names, a reader's own functions."""
