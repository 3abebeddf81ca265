"""What is kept in folders: runs, levels of a search, event logs and their digests."""
