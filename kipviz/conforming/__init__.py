"""Random programs of several clients at a real broker, whose answers `kipviz conform` compares with the model."""
