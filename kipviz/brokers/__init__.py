"""The roles that live on brokers, one file each, independent of each other."""
