"""One row for each API of the protocol: every fact about a request that is not behaviour.

Read `api.py` (what a row says), then a file of rows in a room: `transactions`, `logs`, `groups`, `shares`, `cluster`. It has the
schemas of a few requests in Kafka's notation, what the model puts into their fields, and the rows. `catalogue.py` has all of them.
What a broker does with a request is in `brokers`, how any schema becomes bytes is in `messages.wire`; every other table about
requests is made from these rows.
"""
