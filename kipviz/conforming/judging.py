"""What came of a round: for each program the answers that the model could not have given."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kipviz.conforming.mutants import Mutants, mutants_of
from kipviz.conforming.real_cluster import SETTINGS, Files
from kipviz.core.values import Value
from kipviz.recordings.judging.report import Report, of_evidence
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import Asked
from kipviz.recordings.request_context.evidence import BrokerFiles, Evidence, of_brokers
from kipviz.recordings.request_context.handmade_requests import Request, Sent, request_of


class Judged(Value, frozen=True):
    """A round: the whole report, and the refused answers by the prefix of the program that they belong to.

    `requests` tell by client and number which request each of these answers. `mutants` is None where none were asked about.
    """

    report: Report
    refused: dict[str, tuple[Asked, ...]]
    requests: dict[int, Request]
    mutants: Mutants | None


def evidence_of(files: Iterable[Files], sent: Iterable[Sent]) -> Evidence:
    """Return what brokers wrote, with the batches that their clients sent.

    Raises:
        RecordingError: if it cannot be read.
    """
    brokers = tuple(BrokerFiles(each.logs, (each.requests,)) for each in files)
    return of_brokers(brokers, settings=SETTINGS).but(sent=tuple(sent), first_producer_id=0)


def judge(
    evidence: Evidence, mutants_max: int = 0, go_on: Callable[[], bool] = lambda: True
) -> Judged:
    """Ask the model for every answer.

    Args:
        evidence: what the broker wrote.
        mutants_max: how many changed answers the model is asked about at most, 0 for none.
        go_on: whether to ask about the next one.

    Raises:
        RecordingError: if a request or an answer lacks what its API has.
    """
    report = of_evidence(evidence)
    refused: dict[str, tuple[Asked, ...]] = {}
    for each in report.refused:
        prefix = prefix_of(evidence.exchanges[each.number], each)
        refused[prefix] = (*refused.get(prefix, ()), each)
    mutants = mutants_of(evidence, mutants_max, go_on) if mutants_max else None
    requests = {each.number: request_of(evidence.exchanges[each.number]) for each in report.refused}
    return Judged(report, refused, requests, mutants)


def prefix_of(exchange: Exchange, asked: Asked) -> str:
    """Return the prefix of the program that an exchange belongs to: that of its client, or of what it is about.

    What brokers ask each other belongs to the program whose resource it is about.
    """
    for name in (exchange.client, asked.about):
        prefix, dash, _ = name.partition("-")
        if dash and prefix[:1] == "p" and prefix[1:].isdecimal():
            return prefix
    return ""
