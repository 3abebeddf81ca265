"""What a cluster can be: its spec, the limits of each field, and what a program may call."""
