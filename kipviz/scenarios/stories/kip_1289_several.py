"""KIP-1289: one staging call over several partitions, with one leader and with two (corner case 11)."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.records.placement import SHARE_GROUP_STATE, share_partition_key
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_DELIVERED_TWICE,
    SAW_STAGED,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import BEGIN, COMMIT
from kipviz.scenarios.stories.setting import (
    PLAYGROUND,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    SOURCE_ID,
    TOPIC_IDS,
    home,
    share_app,
)

PAY_ID = "AAAAAAAAAAAAAAAAAAAABg"


def _state_of(topic_id: str, index: int) -> str:
    return home(SHARE_GROUP_STATE, share_partition_key(SHARE_GROUP, topic_id, index))


# src-0 and src-1 have one leader, pay-0 another one; their states lie in three partitions of one topic.
PLACEMENTS = (
    *SHARE_PLACEMENTS,
    Placement("src-1", 5, (3,)),
    Placement("pay-0", 3, (7,)),
    Placement(_state_of(SOURCE_ID, 1), 7, (3,)),
    Placement(_state_of(PAY_ID, 0), 7, (3,)),
)


def _spec(*partitions: str) -> ClusterSpec:
    """Give the cluster with one record in each of some partitions, all for one member."""
    first = {"src-0": (100, "a"), "src-1": (200, "b"), "pay-0": (300, "c")}
    return ClusterSpec(
        (1, 3, 5, 7),
        PLACEMENTS,
        (share_app(max_records=1, gathers=True, further_sources=partitions[1:]),),
        tuple((p, first[p][0], (first[p][1],)) for p in partitions),
        (*TOPIC_IDS, ("pay", PAY_ID)),
        PLAYGROUND,
    )


GATHERED = Beat(
    "consumer.poll()",
    "One ShareFetch for each partition, one after the other; poll() comes back with what all of them "
    "had, each record locked for M1 at its own leader.",
    BEGIN[1].steps,
)
ABORTS = Beat(
    "commitTransaction() throws, and the loop aborts",
    "One partition was refused, so the transaction can only be aborted. The abort ends the vote of the "
    "other one, wherever it is.",
    (
        "app-1 goes on",
        "app-1 goes on",
        "quiet",
        "app-1 goes on",
        "maybe B[35] refreshes src-0",
        "quiet",
    ),
)
POLLS = Beat(
    "consumer.poll() again",
    "What was not staged is given back, what was aborted is free: everything comes again.",
    ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
)

SEVERAL = Scenario(
    "kip-1289-several-partitions",
    "One call, three partitions of two topics, two leaders",
    "The member holds a record of each of three partitions and stages all of them in one call: one "
    "request for each leader, one vote for each partition.",
    "KIP-1289, TxnShareAcknowledgeRequest, Topics and Partitions",
    _spec("src-0", "src-1", "pay-0"),
    (
        BEGIN[0],
        GATHERED,
        *BEGIN[2:],
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "The map has three partitions. The sender asks who leads them: TxnShareAcknowledge goes to "
            "Broker 5 with two of them, and then to Broker 3 with the third.",
            ("app-1 goes on", "until TxnShareAcknowledge arrives at B5"),
        ),
        Beat(
            "Three votes",
            "Each lies in the partition of __share_group_state that its own key hashes to, and each of "
            "those is a participant. Broker 5 answers when both of its votes are durable.",
            ("quiet",),
        ),
        *COMMIT,
        Beat(
            "The markers",
            "One for each participant: the output, and three for the share side.",
            (
                "quiet",
                "maybe B5 refreshes src-0",
                "quiet",
                "maybe B5 refreshes src-1",
                "quiet",
                "maybe B3 refreshes pay-0",
                "quiet",
            ),
        ),
    ),
    ("app-1", "B3", "B5", "B7"),
    ("repaired", "as-written"),
    Question(
        4,
        "The call names src-0, src-1 and pay-0. How many TxnShareAcknowledge requests are sent?",
        (
            Choice("one", False, "No broker leads all three, and brokers do not pass it on."),
            Choice(
                "two, one for each leader",
                True,
                "Right. Only the producer knows that they were one call.",
            ),
            Choice("three", False, "src-0 and src-1 have one leader, and go in one request."),
        ),
    ),
    watch=(
        Watch(4, "Open the request: which partitions are in it, and which are not?"),
        Watch(5, "Count the participants of my-txn at Broker 1."),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

ONE_LEADER = Scenario(
    "kip-1289-corner-11-one-leader",
    "Corner case 11 at one leader: one partition is staged, the other is refused",
    "src-0 and src-1 are in one request to one broker. The lock of src-1's record has run out.",
    "KIP-1289, Corner cases, 11",
    _spec("src-0", "src-1"),
    (
        BEGIN[0],
        GATHERED,
        *BEGIN[2:],
        Beat(
            "The lock of src-1@200 runs out",
            "The application was slow with it. src-0@100 is still M1's.",
            ("the lock of src-1@200 runs out", "quiet"),
        ),
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "One request with two partitions.",
            ("app-1 goes on", "until TxnShareAcknowledge arrives at B5"),
        ),
        Beat(
            "The answer",
            "200 is nobody's and is refused. By the text 100 is ACQUIRED again before the answer goes out; "
            "in the repaired design it stays staged until the abort.",
            ("quiet",),
        ),
        ABORTS,
        POLLS,
    ),
    ("app-1", "B1", "B5", "B7"),
    ("as-written", "finding-Q", "repaired"),
    Question(
        6,
        "100 is staged, 200 is refused. What does the text make of 100?",
        (
            Choice(
                "ACQUIRED, before the answer goes out",
                True,
                "Right: here one broker has both, so it can.",
            ),
            Choice("TX_PENDING until the abort", False, "That is the repaired design."),
        ),
    ),
    watch=(
        Watch(6, "Is the vote for 100 in a log already? Who could take it out of there?"),
        Watch(7, "Does it matter for the outcome whether 100 was given back before the abort?"),
    ),
    checkpoints=(SAW_DELIVERED_TWICE, BROUGHT_TO_END),
)

TWO_LEADERS = Scenario(
    "kip-1289-corner-11-two-leaders",
    "Corner case 11 at two leaders: nobody can take the good half back",
    "src-0 is led by Broker 5, pay-0 was led by Broker 3 and has moved. One call, two requests: the "
    "first is staged, the second refused.",
    "KIP-1289, Corner cases, 11 (finding Q)",
    _spec("src-0", "pay-0"),
    (
        BEGIN[0],
        GATHERED,
        *BEGIN[2:],
        Beat(
            "pay-0 gets another leader",
            "The lock of pay-0@300 was in the memory of Broker 3.",
            ("pay-0 moves to B7",),
        ),
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "The first request goes to Broker 5, which stages 100 and says so.",
            ("app-1 goes on", "quiet but TxnShareAcknowledge arrives at B7"),
        ),
        Beat(
            "The second leader refuses",
            "Broker 7 has never delivered 300. 'Already-staged records on A are reverted before the "
            "response returns': the response is here, and 100 is TX_PENDING at Broker 5.",
            ("TxnShareAcknowledge arrives at B7", "quiet"),
        ),
        ABORTS,
        POLLS,
    ),
    ("app-1", "B1", "B5", "B7"),
    ("finding-Q", "repaired", "as-written"),
    Question(
        6,
        "Broker 7 refuses 300. Who could make 100 at Broker 5 ACQUIRED again before the producer hears "
        "of the refusal?",
        (
            Choice("Broker 7", False, "It does not know that Broker 5 was asked anything."),
            Choice("Broker 5", False, "It has answered already, and hears nothing of Broker 7."),
            Choice(
                "nobody",
                True,
                "Right. What keeps the half from counting is that the producer cannot commit any more.",
            ),
        ),
    ),
    watch=(
        Watch(6, "Where is 100 now, and what would it take to free it?"),
        Watch(
            7, "What if the application went on to commit? Look at what commitTransaction() does."
        ),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)
STORIES: tuple[Scenario, ...] = (SEVERAL, ONE_LEADER, TWO_LEADERS)
