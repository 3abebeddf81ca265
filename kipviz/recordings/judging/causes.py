"""The first causes among rejected answers, and the later ones that may follow from them.

Once a share session, a group, a producer or a partition differs from the model, later answers about it differ, too. So
rejected answers with a common subject have one cause: the first of them, in the order of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kipviz.core.values import Value
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, Names
from kipviz.recordings.request_context.appends import PRODUCE

Subject = tuple[str, str]
# Requests about share-partitions, which they name by group, topic id and number.
OF_STATES = (
    "INITIALIZE_SHARE_GROUP_STATE",
    "READ_SHARE_GROUP_STATE",
    "READ_SHARE_GROUP_STATE_SUMMARY",
    "WRITE_SHARE_GROUP_STATE",
    "DELETE_SHARE_GROUP_STATE",
)
OF_PARTITIONS = (PRODUCE, "FETCH", "DELETE_RECORDS", "DESCRIBE_PRODUCERS")


class Cause(Value, frozen=True):
    """A rejected answer, and the later ones that may follow from it."""

    first: ComparedAnswer
    follow_ups: tuple[ComparedAnswer, ...] = ()


def first_causes(
    refused: Iterable[ComparedAnswer], subjects: Mapping[ComparedAnswer, frozenset[Subject]]
) -> tuple[Cause, ...]:
    """Return the causes in the order of their first answers; `subjects` has the subjects of each answer.

    The subjects of a follow-up also count for later answers.
    """
    found: list[tuple[list[ComparedAnswer], set[Subject]]] = []
    for each in refused:
        about = subjects[each]
        cause = next((known for known in found if known[1] & about), None)
        if cause is None:
            found.append(([each], set(about)))
        else:
            cause[0].append(each)
            cause[1].update(about)
    return tuple(Cause(answers[0], tuple(answers[1:])) for answers, _ in found)


def subjects_of(asked: ComparedAnswer, exchange: Exchange, names: Names) -> frozenset[Subject]:
    """Return the subjects of an answer: share session, share-partition, group, producer, partition."""
    return frozenset(_subjects(asked, exchange, names))


def _subjects(asked: ComparedAnswer, exchange: Exchange, names: Names) -> Iterator[Subject]:
    said, api = exchange.request, exchange.api
    group = said.get("groupId")
    if api in MEMBERS:
        yield "share session", f"{exchange.broker} {group} {said['memberId']}"
        yield "share-partition", f"{group} {asked.about.rpartition(' ')[2]}"
        return
    if api in OF_STATES:
        of_group, topic_id, index = asked.about.partition(",")[0].rsplit(":", 2)
        yield "share-partition", f"{of_group} {names.get(topic_id, topic_id)}-{index}"
        return
    if api in OF_PARTITIONS:
        yield "partition", asked.about
    elif isinstance(group, str):
        yield "group", group
    name = said.get("transactionalId") or said.get("v3AndBelowTransactionalId")
    if isinstance(name, str):
        yield "producer", name
    elif api not in OF_PARTITIONS and not isinstance(group, str):
        # It names several partitions, and each has its own answer.
        yield ("group" if said.get("groups") else "producer"), asked.about.partition(" ")[0]
