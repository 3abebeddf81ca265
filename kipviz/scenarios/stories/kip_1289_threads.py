"""KIP-1289: one thread polls the share consumer, another one stages what it has read."""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.cluster.spec import ClusterSpec
from kipviz.cluster.threads import ThreadSpec
from kipviz.scenarios import shared_consumer_programs as programs
from kipviz.scenarios.material import SAW_COMPLETE, SAW_STAGED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import share_app, share_spec
from kipviz.scenarios.thread_programs import WORKER

ONE, OTHER = "app-1 goes on", "worker of app-1 goes on"
TURN, ITS_TURN = (ONE, "quiet", ONE), (OTHER, "quiet", OTHER)
CLAUSE = "KIP-1289, shareGroupMetadata(), 'safe to call concurrently with poll() and acknowledge()'"


def two_threads(program: tuple[Line, ...], first: int) -> ClusterSpec:
    """Give a process with one share consumer and one producer, whose worker begins with a line of the program."""
    threads = (ThreadSpec(WORKER, first),)
    return share_spec(share_app(program=program, max_records=1, threads=threads))


POLLS_ON = Scenario(
    "kip-1289-threads-poll-on",
    "One thread polls on while another one works on the batch before",
    "A poll() says what became of the batch before it, and that one is in a worker's hands. The consumer cannot know: "
    "it was told nothing.",
    f"{CLAUSE}; ShareConsumerImpl.acknowledgeBatchIfImplicitAcknowledgement (finding X1)",
    two_threads(programs.POLLS_ON, programs.FIRST_OF_WORKER),
    (
        Beat(
            "initTransactions(), shareConsumer.poll()",
            "The first thread has record a, offset 100.",
            (*TURN, *TURN),
        ),
        Beat(
            "executor.submit(worker)",
            "The worker is to put out f(a), and to stage a in a transaction.",
            (ONE,),
        ),
        Beat(
            "First thread: shareConsumer.poll() again",
            "It could wait for the worker, and does not. In implicit mode this poll() acknowledges a; a client that is "
            "repaired gives back what nobody has staged.",
            (ONE, "quiet"),
        ),
        Beat(
            "Worker: beginTransaction(), send(f(a))",
            "Its transaction begins now.",
            (OTHER, OTHER, "quiet"),
        ),
        Beat(
            "Worker: sendShareAcknowledgementsToTransaction(acks, shareConsumer.shareGroupMetadata())",
            "The first thread is in poll(): any other call of the consumer would throw a "
            "ConcurrentModificationException here. This one is promised to be safe, and gives a member id and an epoch. "
            "It does not say who has the record.",
            (OTHER, "quiet"),
        ),
        Beat(
            "The worker's transaction ends",
            "It commits. Or Broker 5 has said INVALID_RECORD_STATE, commitTransaction() throws, and the worker aborts.",
            (
                OTHER,
                "quiet",
                f"maybe {OTHER}",
                "quiet",
                f"maybe {OTHER}",
                "quiet",
                "maybe B5 refreshes src-0",
                "quiet",
            ),
        ),
        Beat(
            "First thread: poll() returns",
            "Record a is in its hand once more; or b, and nobody will ever hand out a again.",
            (ONE,),
        ),
    ),
    ("app-1", "B3", "B5", "B7"),
    ("repaired", "finding-X1"),
    Question(
        3,
        "poll() accepts a in implicit mode. Then the worker's staging of a is refused, and its transaction is aborted. "
        "What is left of a?",
        (
            Choice(
                "nothing: no output, and it will not come again",
                True,
                "Right: it was accepted by a thread that has not worked on it.",
            ),
            Choice("it comes again", False, "Only what is released or whose lock runs out does."),
            Choice("f(a) is committed", False, "The abort takes it back."),
        ),
    ),
    watch=(
        Watch(2, "Find 100 at Broker 5 before and after this poll(). Whose word was that?"),
        Watch(4, "What is in a ShareGroupMetadata, and what would have helped the worker?"),
        Watch(
            6,
            "In one design a is lost, in the other one it is in two hands. What will Broker 5 say to the second one?",
        ),
    ),
    checkpoints=(SAW_COMPLETE, SAW_STAGED),
)

STORIES: tuple[Scenario, ...] = (POLLS_ON,)
