"""Random programs of several clients at a real broker, whose every answer is asked of the model: `kipviz conform`."""
