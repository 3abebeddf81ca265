"""Real clients in the simulated cluster: sockets, frames, and whose turn it is."""
