"""The transaction coordinator: the participants of transactions, its checks, and how a transaction ends."""
