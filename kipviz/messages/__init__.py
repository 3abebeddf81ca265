"""The messages of the protocol: requests and responses with Kafka's names, keys and versions."""
