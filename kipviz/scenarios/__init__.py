"""Stories: a cluster, a script in beats, and what is expected of each design."""
