"""Messages about the records of partitions."""
