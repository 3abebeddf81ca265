"""Real clients in the simulated cluster: sockets, frames, and the order of deliveries.

SERVED of operators' requests: those that list and describe transactions, producers, groups, share groups' offsets and
ACLs, and WriteTxnMarkers, with which an operator aborts a transaction.
NOT SERVED: several topics of a share group's member; operators' requests that create, alter or delete (CreateTopics,
DeleteGroups, OffsetDelete, AlterShareGroupOffsets, DeleteShareGroupOffsets, CreateAcls, DeleteAcls); client telemetry,
SASL and TLS; fetch sessions; metadata and leader epochs of committed offsets; user data of classic assignors. SHARE GROUPS begin at the earliest offset, as with share.auto.offset.reset=earliest; Kafka's
default is latest.
NOT ENDED BY THE CLOCK: log.retention.ms, unused producer ids and transactional ids. What is superseded or very old is
removed after the kept steps (`cleaning`). A saved run replays its steps, with its clients'
names, versions and log lines; the bytes of its record batches are not in it. `kipviz.open(server)` follows the clients
(`widgets.live`).
"""
