"""The bytes of every message: Kafka's schemas as data, one codec, and what fills each field.

Read `schema.py` (how a schema is written down), `codec.py` (values to bytes and back), then one file
per family of messages: Kafka's fields, and beside them what the model's message puts into them.
`frame.py` puts size, header and body together.
"""
