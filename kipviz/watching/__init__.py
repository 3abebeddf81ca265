"""A running cluster through its Admin API: read-only, with a client that is installed beside kipviz."""
