"""Questions about KIP-939: two stores, kept transactions, and who may end them."""

from __future__ import annotations

from kipviz.studies.study import Rival, Study

AGREE = "stores agree"
ORDER = "kip-939-small"

STUDIES: tuple[Study, ...] = (
    Study(
        "B29",
        "Which of two stores commits first when both are written?",
        "KIP-939 dual write; KIP-1310 4.5; Kafka 4.4.0 (keepPreparedTxn is refused)",
        "Whether a crash of the application, at any point, leaves a record in one store only.",
        ORDER,
        "crash_client=1",
        (AGREE,),
        (
            Rival("the database, and Kafka follows (KIP-939)", "kip-939"),
            Rival("the same with what Kafka 4.4.0 serves", "kafka", "kip-939-small-released"),
            Rival(
                "Kafka; what is in doubt is rolled back (KIP-1310)",
                "kip-939",
                "kip-939-small-kafka-first-undoes",
            ),
            Rival(
                "Kafka; what is in doubt is committed (KIP-1310)",
                "kip-939",
                "kip-939-small-kafka-first-commits",
            ),
            Rival(
                "Kafka; the database votes after Kafka's flush",
                "kip-939",
                "kip-939-small-votes-swapped",
            ),
        ),
    ),
)
