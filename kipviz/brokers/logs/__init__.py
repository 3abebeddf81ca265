"""The leader of a partition: its log, what is appended, what is forgotten, and who enlists partitions for it."""
