"""The roles that run on brokers, one file each, independent of each other."""
