"""Studies that count what every interleaving comes to."""
