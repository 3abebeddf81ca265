"""What `kipviz conform` says at the end: which seeds, what cannot be judged and why, and the rounds whose broker was lost."""

import json

import pytest

from kipviz.command.main import main
from kipviz.conforming import rounds
from kipviz.conforming.judging import JudgedRound
from kipviz.conforming.plain_client import Lost
from kipviz.conforming.real_cluster import files_in
from kipviz.conforming.rounds import Round
from kipviz.recordings.judging.report import Report
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer

SAID = (("error", "NONE"),)
ACCEPTED = ComparedAnswer(0, "END_TXN", "p0-x", SAID, (SAID,))
DOUBTED = ComparedAnswer(1, "PRODUCE", "p0-orders-0", SAID, (), doubt="no evidence")


@pytest.fixture
def jars(tmp_path):
    for name in ("kafka-clients-4.4.0", "kafka_2.13-4.4.0", "log4j-core-2.25.4"):
        (tmp_path / f"{name}.jar").touch()
    return str(tmp_path)


def plays(monkeypatch, *lost):
    """Let rounds be played without a broker; those that begin with some seeds lose it."""

    def play_round(jars, home, programs, *_):
        if programs[0].seed in lost:
            raise Lost("no answer within 30 s")
        judged = JudgedRound(Report(2, (ACCEPTED, DOUBTED), (), (), ()), {}, {}, None)
        return Round(tuple(programs), len(programs), judged, {})

    monkeypatch.setattr(rounds, "play_round", play_round)


def test_seeds_and_reasons_are_told(jars, monkeypatch, capsys):
    plays(monkeypatch)
    assert main(["conform", "--kafka", jars, "--programs", "60", "--seed", "7"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "Kafka 4.4.0, one broker, seeds 7 to 66: 60 programs, 4 responses compared: 2 accepted, 0 refused, "
        "2 that cannot be judged."
    )
    assert second.split() == ["2", "cannot", "be", "judged:", "PRODUCE,", "no", "evidence"]


def test_a_round_whose_broker_is_lost_costs_itself_only(jars, monkeypatch, capsys):
    plays(monkeypatch, 1)
    assert main(["conform", "--kafka", jars, "--programs", "60", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lost"] == ["seeds 1 to 50: no answer within 30 s"]
    assert told["seeds"] == list(range(51, 61))
    assert told["doubts"] == {"PRODUCE, no evidence": 1}


REFUSED = ComparedAnswer(2, "END_TXN", "p1-x", SAID, ())


def refuses(monkeypatch, *, again):
    """Let the second program of each round be rejected there, and when it runs alone only if it is rejected `again`."""

    def play_round(jars, home, programs, *_):
        (files,) = files_in(home, 1)
        files.logs.mkdir()
        (files.logs / "of").write_text(" ".join(str(each.seed) for each in programs))
        files.requests.write_text("lines\n")
        alone = len(programs) == 1
        refused = (REFUSED,) if again or not alone else ()
        report = Report(2, (ACCEPTED, *refused), (), (), ())
        judged = JudgedRound(report, {"p0" if alone else "p1": refused}, {2: ("p1-a", 3)}, None)
        return Round(tuple(programs), len(programs), judged, {("p1-a", 3): 0})

    monkeypatch.setattr(rounds, "play_round", play_round)


def test_a_refusal_that_needs_load_keeps_the_round_in_which_it_was_refused(
    jars, tmp_path, monkeypatch, capsys
):
    refuses(monkeypatch, again=False)
    place = tmp_path / "kept"
    asked = ["conform", "--kafka", jars, "--programs", "3", "--seed", "7", "--keep", str(place)]
    assert main(asked) == 1
    said = capsys.readouterr().out
    assert f"kept unshrunk: {place / 'round-1'}, a whole round with all its programs." in said
    assert f"kept: {place / 'refusal-1'} (not rejected when it ran alone)" in said
    (files,) = files_in(place / "round-1", 1)
    assert (files.logs / "of").read_text() == "7 8 9"
    programs = json.loads((place / "round-1" / rounds.PROGRAMS).read_bytes())
    assert [each["seed"] for each in programs] == [7, 8, 9]
    assert json.loads((place / "round-1" / rounds.SENT).read_bytes()) == []
    report = (place / "round-1" / rounds.REPORT).read_text()
    assert "seed 8: " in report
    assert "1 refused" in report


def test_a_refusal_that_happens_again_alone_is_kept_without_its_round(
    jars, tmp_path, monkeypatch, capsys
):
    refuses(monkeypatch, again=True)
    place = tmp_path / "kept"
    assert (
        main(["conform", "--kafka", jars, "--programs", "3", "--keep", str(place), "--json"]) == 1
    )
    told = json.loads(capsys.readouterr().out)
    assert told["kept_rounds"] == []
    assert [each["kept"] for each in told["refusals"]] == [str(place / "refusal-1")]
    assert [each.name for each in place.iterdir()] == ["refusal-1"]


def test_where_every_round_is_lost_there_is_nothing_to_tell(jars, monkeypatch, capsys):
    plays(monkeypatch, 1, 51)
    assert main(["conform", "--kafka", jars, "--programs", "60"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no answer within 30 s" in line
