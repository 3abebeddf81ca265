"""The findings of our review of KIP-447's drafts: what they say against themselves, each other and Kafka.

Two texts were given. The middle version has the group's id as a producer config and still tells of the
first draft of June 2019, whose coordinator knows the assignment. The second draft has
initTransactions(consumer). Kafka released neither. A name is never given to another finding.
"""

from __future__ import annotations

from kipviz.studies.findings import Finding

MIDDLE = "middle version"
SECOND = "second draft"
KAFKA = "Kafka 4.4.0"

ABOUT = (
    "Both texts are drafts of 2019, and Kafka 2.5 released something else. 'Middle version' is the text with "
    "the group's id as a producer config, which still tells of the first draft of June 2019; 'second draft' is "
    "the text with initTransactions(consumer). Each design is Kafka as released, with what is named as the text has it."
)

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "447-A",
        "No input is processed twice during the upgrade; a config chooses the new producer.",
        f"{MIDDLE}: Compatibility, Deprecation, and Migration Plan",
        "With one rolling bounce the old task producer sends its offsets without a member, and no "
        "coordinator can fence it. The second draft needs two bounces.",
        "kafka",
        "kip-447-one-bounce",
        promise="atomic",
        played=True,
        against=f"{SECOND} (two rolling bounces)",
    ),
    Finding(
        "447-B",
        "An old consumer is told COORDINATOR_LOAD_IN_PROGRESS while offsets are pending.",
        f"{MIDDLE}: Compatibility, Deprecation, and Migration Plan",
        "Released brokers give it the committed offset: only a request that asks for stable offsets "
        "(OffsetFetch version 7) waits. The record is processed twice.",
        "kafka",
        "kip-447-old-consumer",
        promise="atomic",
        played=True,
        against=f"{KAFKA}, OffsetFetchRequest.requireStable",
    ),
)
