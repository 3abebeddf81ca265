"""A running cluster, as its Admin API shows it: read-only, through a client that is installed beside kipviz."""
