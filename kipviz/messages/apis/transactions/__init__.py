"""A producer with a transactional id: its producer id, what it adds, how it ends, whether it lives, and what an operator sees of it."""
