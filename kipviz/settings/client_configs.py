"""The settings of all clients, and those of producers and of a TransactionSession (KIP-1310, draft)."""

from __future__ import annotations

from kipviz.clauses import DRAFT
from kipviz.settings.setting_def import INT32, AnySetting, Owner, Place, SettingDef, Type

A, D = Place.APPLICATION, Place.DURATIONS
CLIENTS, PRODUCER, INT, LONG = Owner.CLIENTS, Owner.PRODUCER, Type.INT, Type.LONG

BOOTSTRAP_SERVERS = SettingDef(
    "bootstrap.servers",
    CLIENTS,
    Type.LIST,
    (),
    "CommonClientConfigs",
    says="the addresses at which a client looks for the cluster",
)
CLIENT_ID = SettingDef(
    "client.id",
    CLIENTS,
    Type.STRING,
    "",
    "CommonClientConfigs",
    says="a name for metrics, logs and quotas",
)
SECURITY_PROTOCOL = SettingDef(
    "security.protocol",
    CLIENTS,
    Type.STRING,
    "PLAINTEXT",
    "CommonClientConfigs",
    says="how a connection is authenticated and encrypted",
)
RETRY_BACKOFF_MS = SettingDef(
    "retry.backoff.ms",
    CLIENTS,
    LONG,
    100,
    "CommonClientConfigs; batches that are sent again grow it (KIP-580), other requests do not",
    D,
    "retry_backoff_ms",
    1,
    unit="ms",
    says="a request that failed with a retriable error is sent again, also one for unstable offsets (KIP-447)",
)
REQUEST_TIMEOUT_MS = SettingDef(
    "request.timeout.ms",
    Owner.CLIENTS_AND_BROKERS,
    INT,
    30_000,
    "NetworkClient.handleTimedOutRequests",
    D,
    "request_timeout_ms",
    1,
    unit="ms",
    says="a client closes the connection of a request without a response; a by_duration reset without a record asks again",
)

TRANSACTIONAL_ID = SettingDef(
    "transactional.id",
    PRODUCER,
    Type.STRING,
    "",
    "ProducerConfig; KIP-98",
    A,
    "transactional_id",
    says="the identity of a producer, which outlives its process",
)
# The broker checks the limit of a transaction's timeout; a producer may ask for anything.
TRANSACTION_TIMEOUT_MS = SettingDef(
    "transaction.timeout.ms",
    PRODUCER,
    INT,
    60_000,
    "KIP-98; TransactionStateManager.timedOutTransactions",
    A,
    "transaction_timeout_ms",
    -(2**31),
    unit="ms",
    asks="After how many ms is an open transaction aborted?",
    says="an open transaction is aborted by the scan that finds it, an append to its log times out",
)
TRANSACTION_TWO_PHASE_COMMIT_ENABLE = SettingDef(
    "transaction.two.phase.commit.enable",
    PRODUCER,
    Type.BOOLEAN,
    False,
    "ProducerConfig; KIP-939",
    A,
    "two_phase_commit",
    says="whether a transaction has no timeout, so that an external coordinator can end it",
)
TRANSACTION_HEARTBEAT_INTERVAL_MS = SettingDef(
    "transaction.heartbeat.interval.ms",
    PRODUCER,
    INT,
    0,
    "KIP-1309; where the interval begins is our inference",
    A,
    "heartbeat_interval_ms",
    0,
    unit="ms",
    asks="How often is a transaction heartbeat sent (ms; KIP-1309, draft)?",
    says="a heartbeat is due; after three silent intervals the transaction is aborted",
    status=DRAFT,
)
ENABLE_IDEMPOTENCE = SettingDef(
    "enable.idempotence",
    PRODUCER,
    Type.BOOLEAN,
    True,
    "ProducerConfig; KIP-98",
    Place.PLAIN,
    "idempotence",
    says="whether a log rejects batches that a producer has sent before",
)
MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION = SettingDef(
    "max.in.flight.requests.per.connection",
    PRODUCER,
    INT,
    5,
    "ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION; KIP-98",
    A,
    "max_in_flight",
    1,
    says="how many batches of a partition may be in flight",
)
BUFFER_MEMORY = SettingDef(
    "buffer.memory",
    PRODUCER,
    LONG,
    33_554_432,
    "ProducerConfig; BufferPool.allocate",
    A,
    "buffer",
    0,
    INT32,
    "bytes",
    says="how much room unsent and unacknowledged batches have",
    coded="a number of batches, 0 for any number",
)
RETRY_BACKOFF_MAX_MS = SettingDef(
    "retry.backoff.max.ms",
    PRODUCER,
    LONG,
    1_000,
    "KIP-580; ExponentialBackoff, without its jitter",
    D,
    "retry_backoff_max_ms",
    1,
    unit="ms",
    says="a batch that failed several times is sent again",
)
MAX_BLOCK_MS = SettingDef(
    "max.block.ms",
    PRODUCER,
    LONG,
    60_000,
    "KIP-98, KIP-1319; KafkaProducer",
    D,
    "max_block_ms",
    1,
    unit="ms",
    says="a blocking call returns without its result",
)
METADATA_MAX_IDLE_MS = SettingDef(
    "metadata.max.idle.ms",
    PRODUCER,
    LONG,
    300_000,
    "KIP-526; ProducerMetadata",
    D,
    "metadata_max_idle_ms",
    1,
    unit="ms",
    says="the metadata of an unused topic expires",
)
DELIVERY_TIMEOUT_MS = SettingDef(
    "delivery.timeout.ms",
    PRODUCER,
    INT,
    120_000,
    "KIP-91; RecordAccumulator.expiredBatches",
    D,
    "delivery_timeout_ms",
    1,
    unit="ms",
    says="a batch expires, from when it was made",
)
TRANSACTION_SESSION_TIMEOUT_MS = SettingDef(
    "transaction.session.timeout.ms",
    Owner.SESSION,
    INT,
    -1,
    "KIP-1310 2.2, for the issue of KIP-1309",
    Place.SESSION,
    "session_timeout_ms",
    unit="ms",
    asks="For how many ms may the session be silent, -1 without end (KIP-1310, draft)?",
    says="a silent session expires; no page says how often it sends heartbeats: a third of this here",
    status=DRAFT,
)

CLIENT_CONFIGS: tuple[AnySetting, ...] = (
    BOOTSTRAP_SERVERS,
    CLIENT_ID,
    SECURITY_PROTOCOL,
    RETRY_BACKOFF_MS,
    REQUEST_TIMEOUT_MS,
    TRANSACTIONAL_ID,
    TRANSACTION_TIMEOUT_MS,
    TRANSACTION_TWO_PHASE_COMMIT_ENABLE,
    TRANSACTION_HEARTBEAT_INTERVAL_MS,
    ENABLE_IDEMPOTENCE,
    MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION,
    BUFFER_MEMORY,
    RETRY_BACKOFF_MAX_MS,
    MAX_BLOCK_MS,
    METADATA_MAX_IDLE_MS,
    DELIVERY_TIMEOUT_MS,
    TRANSACTION_SESSION_TIMEOUT_MS,
)
