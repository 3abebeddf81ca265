"""The folders and request logs of several brokers of one cluster are judged together, whatever is kept in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kipviz.command.main import main
from kipviz.recordings.decoded.elections import brokers_of
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.report import report
from kipviz.recordings.possible_worlds.seated_worlds import SeatedWorlds
from kipviz.recordings.recorded import load_recording
from kipviz.recordings.request_context.evidence import (
    BrokerFiles,
    Evidence,
    of_brokers,
    of_recording,
)
from tests.recordings.brokers_folders import brokers_folders

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
CLUSTERS = ("leader-move", "coordinator-move", "markers-across-brokers", "min-insync-replicas")


def asked_of(evidence: Evidence) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in Acceptor(evidence).compare_all():
        assert each.accepted, each
        found[each.api] = found.get(each.api, 0) + 1
    return found


@pytest.mark.parametrize("name", CLUSTERS)
def test_folders_of_several_brokers_are_judged_as_their_recording_is(
    tmp_path: Path, name: str
) -> None:
    files = [
        BrokerFiles(logs, (requests,))
        for logs, requests in brokers_folders(RELEASE / name, tmp_path)
    ]
    evidence = of_brokers(files)
    recorded = of_recording(RELEASE / name)
    assert evidence.decisions == tuple(
        each for each in recorded.decisions if each.partition in evidence.partitions
    )
    assert asked_of(evidence) == asked_of(recorded) != {}


def test_the_command_judges_several_folders_with_a_request_log_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = brokers_folders(RELEASE / "leader-move", tmp_path)
    folders = [str(logs) for logs, _ in found]
    requests = [word for _, path in found for word in ("--requests", str(path))]
    assert main(["log", *folders, "--accept", *requests, "--worlds-max", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["refused"] == []
    assert sum(told["asked"].values()) > 10
    assert main(["log", *folders, "--accept", *requests[:2]]) == 2
    assert "these are 3 folders and 1 request logs" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["leader-move", "rolling-bounce"])
@pytest.mark.parametrize("most", [1, 5])
def test_how_many_worlds_are_kept_changes_no_answer(name: str, most: int) -> None:
    evidence = of_recording(RELEASE / name)
    assert Acceptor(evidence.but(worlds_max=most)).compare_all() == Acceptor(evidence).compare_all()


def test_no_more_worlds_are_kept_than_a_setting_says() -> None:
    evidence = of_recording(RELEASE / "leader-move")
    acceptor = Acceptor(evidence)
    seats = SeatedWorlds(evidence.decisions, 3)
    world = acceptor.logs.model.initial()
    knowns = seats.known_between(0, 2**62)
    assert len(knowns) > 3
    first = seats.of(world, knowns[0])
    assert seats.of(world, knowns[0]) is first
    for known in knowns[1:]:
        seats.of(world, known)
        assert len(seats) <= 3
    again = seats.of(world, knowns[0])
    assert again == first
    assert again is not first
    with pytest.raises(ValueError, match="the number of worlds to keep must be at least 1, not 0"):
        SeatedWorlds((), 0)
    with pytest.raises(
        ValueError, match="the number of states of the cluster to keep must be at least 1"
    ):
        report(RELEASE / "leader-move", worlds_max=0)


def test_a_recording_of_several_brokers_has_several() -> None:
    assert {brokers_of(load_recording(RELEASE / name).decisions) for name in CLUSTERS} == {
        (1, 2, 3)
    }
