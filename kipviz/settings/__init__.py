"""The settings of Kafka that the model reads, and those of the model itself: one definition for each."""
