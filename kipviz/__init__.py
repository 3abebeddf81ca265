"""kipviz: a step-able, searchable simulation of Kafka's transaction and share-group protocol.

This package file names the version and imports nothing, so that every floor can be imported alone.
"""

__version__ = "0.1.0"
