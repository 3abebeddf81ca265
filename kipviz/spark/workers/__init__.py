"""What workers get and do: kipviz as an archive, states as bytes, runs and successors of states."""
