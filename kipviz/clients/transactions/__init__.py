"""The transactional producer: its states, its errors, and what it remembers of a transaction."""
