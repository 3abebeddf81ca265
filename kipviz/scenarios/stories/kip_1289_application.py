"""KIP-1289: what the pseudo code of the text does to the application that runs it."""

from __future__ import annotations

from kipviz.scenarios.material import BROUGHT_TO_END, SAW_STAGED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import BEGIN, COMMIT, STAGE
from kipviz.scenarios.stories.setting import share_app, share_spec

EXPLICIT = Scenario(
    "kip-1289-small-explicit",
    "The loop of the text in explicit mode",
    "The consumer runs with share.acknowledgement.mode=explicit. The loop stages its record, commits, "
    "and calls poll() again. It never calls acknowledge(), as the text demands.",
    "KIP-1289, Pseudo code, 'Do NOT call shareConsumer.acknowledge(...)'; KIP-932, explicit mode; "
    "ShareConsumerImpl.collect (finding X27)",
    share_spec(share_app(max_records=1, explicit=True), values=("a",)),
    (
        *BEGIN,
        *STAGE,
        *COMMIT,
        Beat(
            "The markers",
            "The transaction commits, and its record with it.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "consumer.poll() again",
            "Kafka's share consumer wants an acknowledgement of every record before this call. The "
            "staging went through the producer: the consumer has heard of it only in the repaired design.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-X27", "as-written"),
    Question(
        9,
        "The transaction is committed. What does the next poll() do as Kafka's consumer is?",
        (
            Choice(
                "it asks for the next records",
                False,
                "The consumer still has a record that nobody has acknowledged to it.",
            ),
            Choice(
                "it throws IllegalStateException",
                True,
                "Right. The loop has no catch block around poll(), so the process ends.",
            ),
        ),
    ),
    watch=(
        Watch(5, "The staging is a call of the producer. What does the consumer learn of it?"),
        Watch(9, "Who knows that record 100 is done: the broker, the producer, the consumer?"),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

STORIES: tuple[Scenario, ...] = (EXPLICIT,)
