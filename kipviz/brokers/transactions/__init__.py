"""The transaction coordinator: who is in a transaction, what it compares, and how a transaction ends."""
