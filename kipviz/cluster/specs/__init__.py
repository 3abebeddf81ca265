"""What a cluster is: its spec, the limits of each field, and what a profile leaves out."""
