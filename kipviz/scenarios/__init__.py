"""Stories: a cluster, a script in steps, and what is expected of each design."""
