"""Groups of consumers: offsets, members of both protocols, and what an operator asks of a group."""
