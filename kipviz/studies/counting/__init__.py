"""Studies that count the outcomes of every interleaving."""
