"""One row for each API of the protocol: every fact about a request that is not behaviour.

Read `api.py` (the fields of a row), then a file of rows in a room: `transactions`, `logs`, `groups`, `shares`,
`cluster`. It has the schemas of a few requests in Kafka's notation, what the model puts into their fields, and the
rows. `catalogue.py` has all of them. The handlers of requests are in `brokers`, the encoding of any schema is in
`messages.wire`. Made from these rows are: the bytes of every message and the decoding of every request, who handles it
(`cluster.dispatch`), its rights, its rejection, its legal errors, what a release supports, its clause and its words, and
the requests of a served cluster (`serving.translating.apis`, which adds the answers that need more than the reply).
The requests of a judged log are decoded by them, too, but for three that `recordings.replayed_roles` reads itself: a
log has no batches of a Produce, a Fetch has its session's partitions, and each key of a FindCoordinator is compared
with its place alone. No response is decoded here: `recordings` compares the fields of a recorded one.
"""
