"""The wire vocabulary: requests and responses with Kafka's names, keys and versions."""
