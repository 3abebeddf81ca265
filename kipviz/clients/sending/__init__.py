"""What leaves a producer: its sender, its batches, and who waits for room or for metadata."""
