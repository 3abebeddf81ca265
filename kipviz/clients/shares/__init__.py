"""The share consumer: what it holds, says and hands over to a producer."""
