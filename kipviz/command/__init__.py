"""The command `kipviz`: every job of the notebooks for a shell."""
