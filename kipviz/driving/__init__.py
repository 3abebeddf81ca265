"""Drive the simulation from a program: a whole cluster, or one role of one broker."""
