"""Real clients in the simulated cluster: sockets, frames, and the order of deliveries.

SERVED of operators' requests: what docs/SERVING.md lists in its table; it is compared with what brokers announce.
NOT SERVED: requests about configs, quotas, reassignments and log directories;
client telemetry, SASL and TLS; fetch sessions; classic groups of another protocol type than consumers.
SHARE GROUPS begin at the earliest offset, as with share.auto.offset.reset=earliest; Kafka's default is latest.
Clients cannot read internal topics: a Fetch has the error TOPIC_AUTHORIZATION_FAILED for such a partition.
RECORDS: a client reads the bytes that a client sent. The model keeps their values, of a long one the first 1,000 bytes,
and neither keys, headers nor timestamps; a record that the model copies into a dead-letter queue has its value alone.
NOT ENDED BY THE CLOCK: log.retention.ms, unused producer ids and transactional ids, offsets of unused groups.
A saved run replays its steps, with its clients' names, versions and log lines; the bytes of its record batches are not
in it. `kipviz.open(server)` follows the clients (`widgets.live`).

MEMORY: 20,000 steps are kept, or fewer if their requests have 32 MB or their batches, as clients sent them, 64 MB.
After those `cleaning` begins. Then a partition of a user's topic keeps 20,000 batches, and all of them together, with
the bytes that clients sent, about 128 MB; what the kept steps can read stays beside that. Internal topics are compacted. A coordinator keeps 1,000 transactional ids or groups besides those in
use, a partition the 1,000 producers that wrote last, the server 1,000 clients that are gone. Six partitions with 20,000
small batches each were measured at 66 MB, a process without requests at 35 MB; with everything at its bound it is about
400 MB. NOT BOUNDED: what is in use (members, open transactions, up to 20,000 connections with up to 256 MB of unfinished
requests), and share groups.
"""
