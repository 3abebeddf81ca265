"""Studies of the transaction versions: the benefit of an epoch for each transaction."""

from __future__ import annotations

from kipviz.studies.counting.token_versions import ANSWERS
from kipviz.studies.study import Rival, Study

LIVE = "no stuck transactions or records"
AGREE = ("stores agree", LIVE)
SMALL = "kip-890-small"
VERSIONS = (
    Rival("version 0, nothing verified", "kafka-tv0"),
    Rival("version 1, verified (KIP-890 part 1)", "kafka-tv1"),
    Rival("version 2, an epoch for each transaction (KIP-890 part 2)", "kafka"),
)

VERSION_STUDIES: tuple[Study, ...] = (
    Study(
        "B26",
        "Can a delayed commit end the next transaction?",
        "KIP-890 'Motivation'; TransactionCoordinator.endTransaction",
        "Whether more is committed than the application has asked for, when one request stays on its "
        "way while the client goes on.",
        SMALL,
        "request_timeout=1",
        ("commit only when requested",),
        VERSIONS,
    ),
    Study(
        "B27",
        "Which version leaves transactions hanging?",
        "KIP-890 'Motivation', 'VerificationGuard'; KIP-360",
        "Whether a batch that is appended after its marker holds back the last stable offset permanently.",
        SMALL,
        "request_timeout=1,delivery_timeout=1",
        (LIVE,),
        (
            VERSIONS[0],
            VERSIONS[1],
            Rival(
                "version 1, verified but without the guard",
                "kafka-tv1+verification_guard=never_guarded",
            ),
            VERSIONS[2],
        ),
    ),
    Study(
        "late record",
        "Can a late record become part of the next transaction?",
        "KIP-890 'Motivation'; KIP-360, the client's own bump",
        "Whether a batch ends with another transaction than the one it was sent in. The client is "
        "Kafka's: it bumps its epoch by itself after a batch of which it does not know what became.",
        SMALL,
        "request_timeout=1,delivery_timeout=1",
        ("batch stays in its transaction",),
        VERSIONS,
    ),
    Study(
        "B34",
        "What if the transaction version changes in the middle of a transaction?",
        "KIP-890 'Upgrade'; TransactionManager.maybeUpdateTransactionV2Enabled",
        "Whether anything hangs or is committed unasked, whenever the level is changed and the client "
        "is called for it. Then with a prepared transaction (KIP-939): the process crashes, the level "
        "changes, and the next process asks to keep the transaction. That keepPreparedTxn is refused below "
        "version 2 is our inference, because KIP-939 does not speak of older versions. Below the searches: what two "
        "recoveries of one checkpoint receive, by the version in which they end the transaction. A token "
        "that remembers the version is what FLINK-40689 asks for.",
        SMALL,
        "upgrade=1,lose_connection=1",
        ("commit only when requested", LIVE),
        (
            Rival("up from version 1, or down", "kafka-tv1"),
            Rival("down from version 2", "kafka"),
            Rival(
                "prepared, and the level stays at version 2",
                "kip-939",
                "kip-939-small",
                "crash_client=1",
                AGREE,
            ),
            Rival(
                "prepared, and down from version 2",
                "kip-939",
                "kip-939-small",
                "crash_client=1,upgrade=1",
                AGREE,
            ),
            Rival(
                "prepared, down to version 1 and up again",
                "kip-939",
                "kip-939-small",
                "crash_client=1,upgrade=2",
                AGREE[:1],
            ),
        ),
        beside=ANSWERS,
    ),
)
