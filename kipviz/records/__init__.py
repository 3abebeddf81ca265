"""What Kafka's logs contain: batches, control batches and the records of the internal topics."""
