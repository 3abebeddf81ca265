"""One row for each API of the protocol: every fact about a request that is not behaviour.

Read `api.py` (the fields of a row), then a file of rows in a room: `transactions`, `logs`, `groups`, `shares`,
`cluster`. It has the schemas of a few requests in Kafka's notation, what the model puts into their fields, and the
rows. `catalogue.py` has all of them. The handlers of requests are in `brokers`, the encoding of any schema is in
`messages.wire`; every other table about requests is made from these rows.
"""
