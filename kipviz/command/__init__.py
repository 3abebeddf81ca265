"""The command `kipviz`: everything that the notebooks can do, from a shell."""
