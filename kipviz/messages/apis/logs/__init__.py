"""The log of a partition: append, fetch, and where offsets are."""
