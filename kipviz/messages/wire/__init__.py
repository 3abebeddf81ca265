"""How any message becomes bytes: Kafka's notation of schemas, one codec, and the frame around a message.

Read `schema.py` (how a schema is written down), then `codec.py` (values to bytes and back). The schemas themselves, and what
the model's messages put into their fields, stand beside the rows of `messages.apis`. `frame.py` puts size, header and body together.
"""
