"""The sending side of a producer: its sender, its batches, and its waits for room or for metadata."""
