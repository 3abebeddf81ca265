"""The encoding of messages: Kafka's notation of schemas, one codec, and the frame around a message.

Read `schema.py` (how a schema is written), then `codec.py` (encoding and decoding). The schemas themselves, and what
the model's messages put into their fields, are beside the rows of `messages.apis`. `frame.py` puts size, header and
body together.
"""
