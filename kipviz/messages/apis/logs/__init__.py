"""The log of a partition: append, fetch, and the lookup of offsets."""
