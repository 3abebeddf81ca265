"""The result of a round: for each program the answers that the model could not have given."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kipviz.conforming.mutants import Mutants, mutants_of
from kipviz.conforming.real_cluster import SETTINGS, Files
from kipviz.core.values import Value
from kipviz.recordings.judging.report import Report, of_evidence
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.evidence import BrokerFiles, Evidence, of_brokers
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch, request_of


class JudgedRound(Value, frozen=True):
    """A round: the whole report, and the refused answers by the prefix of their program.

    `requests` identify the request of each of these answers by client and number. `mutants` is None if none were
    compared.
    """

    report: Report
    refused: dict[str, tuple[ComparedAnswer, ...]]
    requests: dict[int, Request]
    mutants: Mutants | None


def evidence_of(files: Iterable[Files], sent: Iterable[RequestBatch]) -> Evidence:
    """Return the brokers' logs and request logs, with the batches that their clients sent.

    Raises:
        RecordingError: if they cannot be read.
    """
    brokers = tuple(BrokerFiles(each.logs, (each.requests,)) for each in files)
    return of_brokers(brokers, settings=SETTINGS).but(sent=tuple(sent), first_producer_id=0)


def judge(
    evidence: Evidence, mutants_max: int = 0, go_on: Callable[[], bool] = lambda: True
) -> JudgedRound:
    """Compare every answer with the model.

    Args:
        evidence: the broker's logs and requests.
        mutants_max: the maximum number of changed answers to compare, 0 for none.
        go_on: whether to compare the next one.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
    """
    report = of_evidence(evidence)
    refused: dict[str, tuple[ComparedAnswer, ...]] = {}
    for each in report.refused:
        prefix = prefix_of(evidence.exchanges[each.number], each)
        refused[prefix] = (*refused.get(prefix, ()), each)
    mutants = mutants_of(evidence, mutants_max, go_on) if mutants_max else None
    requests = {each.number: request_of(evidence.exchanges[each.number]) for each in report.refused}
    return JudgedRound(report, refused, requests, mutants)


def prefix_of(exchange: Exchange, asked: ComparedAnswer) -> str:
    """Return the prefix of an exchange's program: that of its client, or of its subject.

    An exchange between brokers belongs to the program whose resource is its subject.
    """
    for name in (exchange.client, asked.about):
        prefix, dash, _ = name.partition("-")
        if dash and prefix[:1] == "p" and prefix[1:].isdecimal():
            return prefix
    return ""
