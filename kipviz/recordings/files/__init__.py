"""The files of a real broker as bytes: segments, batches, request logs, and windows of them."""
