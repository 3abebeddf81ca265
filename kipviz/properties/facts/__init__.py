"""The facts of a run that properties remember."""
