"""Questions about KIP-939: two stores, kept transactions, and which process may end them."""

from __future__ import annotations

from kipviz.studies.study import Rival, Study

AGREE = "stores agree"
ORDER = "kip-939-small"
TWO_PROCESSES, NO_FAULT = "kip-939-small-two-processes", "crash_client=0"

STUDIES: tuple[Study, ...] = (
    Study(
        "B14",
        "Must keeping a prepared transaction bump the epoch and log it?",
        "KIP-939 KeepPreparedTxn; pull requests 21735 and 22704 (both open)",
        "Whether an EndTxn that timed out at its sender, and was retried, ends a later transaction that no process has "
        "prepared. The bump at the start has another purpose: without it the previous owner of the transaction can "
        "still end it. The bump does not help against two running processes: each ends the prepared transaction as the "
        "database says, and the database does not know the other one's decision yet.",
        "kip-939-small-next",
        "crash_client=1,request_timeout=1",
        (AGREE,),
        (
            Rival("no bump, nothing logged (22704)", "kip-939+keep_prepared=the_same"),
            Rival(
                "a bump when it is kept, none when it is over", "kip-939+kept_completion=as_kept"
            ),
            Rival("a bump when it is kept and one when it is over (21735)", "kip-939"),
            *(
                Rival(f"two processes at once: {label}", design, TWO_PROCESSES, NO_FAULT)
                for label, design in (
                    ("no bump (22704)", "kip-939+keep_prepared=the_same"),
                    ("both bumps (21735)", "kip-939"),
                )
            ),
        ),
    ),
    Study(
        "B22",
        "Who keeps a prepared transaction alive?",
        "KIP-1309 TxnHeartbeat (draft); KIP-939, where prepared is known to the client alone",
        "Whether a coordinator that aborts a silent owner's transaction aborts what the database has "
        "committed. What the exception costs: readers wait until a process recovers the transaction, as they do "
        "without heartbeats (counted in B21).",
        "kip-1309-small",
        "crash_client=1,run_out=1",
        (AGREE,),
        (
            Rival("nobody: one time limit, and none in a two-phase commit (Kafka)", "kip-939"),
            Rival("its writer, whatever it has prepared (the text)", "kip-1309"),
            Rival(
                "nobody in a two-phase commit, its writer in any other",
                "kip-939+liveness=not_in_two_phases",
            ),
        ),
    ),
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
                "Kafka; the database prepares after Kafka's flush",
                "kip-939",
                "kip-939-small-swapped",
            ),
            *(
                Rival(f"a session: {label}", "repaired", f"kip-1310-small-{name}")
                for label, name in (
                    ("the database, then resume() with what it has (KIP-1310 2.1)", "resumes"),
                    ("the database, then initialize() as on the page", "initialize"),
                    ("the database, then an initialize() that keeps (not on the page)", "keeps"),
                    ("Kafka; what is in doubt is rolled back", "undoes"),
                    ("Kafka; what is in doubt is resumed and committed (4.5)", "commits"),
                    ("Kafka; the same, and the database prepares last", "swapped"),
                )
            ),
        ),
    ),
)
