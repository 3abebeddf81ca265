"""Real clients in the simulated cluster: sockets, frames, and whose turn it is.

NOT SERVED: share groups, ListGroups and the other requests of operators, CreateTopics, CreateAcls, client telemetry,
SASL and TLS; fetch sessions; metadata and leader epochs of committed offsets; user data of classic assignors.
NOT ENDED BY THE CLOCK: sessions and rebalance time-outs of groups' members, retention (a log only grows).
A saved run replays its steps; the bytes of its record batches are not in it.
"""
