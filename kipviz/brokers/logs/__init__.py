"""The leader of a partition: its log, appends, retention, and the addition of its partition to transactions."""
