"""The transactional producer: its states, its errors, and its memory of the transaction."""
