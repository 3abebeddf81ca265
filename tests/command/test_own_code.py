"""Rules and views of the reader's own on the command line: what runs them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kipviz.command import own_code
from kipviz.command.main import main
from kipviz.designs import catalogue

STORY = "kip-1289-lock-expiry"
CODE = '''
"""What a reader brings."""

print("loaded")


def not_newer(staged: int, marker: int) -> bool:
    """A marker resolves a transactional acknowledgement that is not newer than itself."""
    return staged <= marker


def states(world):
    """The state of each shared record."""
    return [
        (f"{key}@{offset}", record.state.name)
        for role in world.roles.values()
        for key, share in getattr(role, "shares", {}).items()
        for offset, record in share.records.items()
    ]


def two(one, other):
    return {}


def fails(record):
    """Raise in a run."""
    raise RuntimeError("too late")
'''


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(catalogue, "_registered", {})
    own_code._load_module.cache_clear()


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(CODE, "utf-8")
    return str(path)


def test_a_rule_of_a_file_takes_a_slot_and_the_design_is_called_as_it_is(kipviz, mine: str) -> None:
    rule = ("--rule", f"marker_epoch={mine}:not_newer")
    done = kipviz("explore", "kip-1289-small", "--design", "repaired", *rule, "--json")
    assert (done.status, done.document["design"]) == (0, "not-newer")
    assert done.document["states"] == 686
    played = kipviz("play", STORY, *rule)
    assert played.out.splitlines()[1].startswith("design not-newer (our inference)")
    loop = ("--designs", "not-newer", "--runs", "1", "--way", "loop", "--json")
    counted = kipviz("campaign", "--scenario", "kip-1289-small", *loop, *rule)
    assert [row["design"] for row in counted.document["verdicts"]] == ["not-newer"]


def test_what_a_file_prints_while_it_is_loaded_is_no_part_of_the_answer(kipviz, mine: str) -> None:
    done = kipviz("play", STORY, "--rule", f"marker_epoch={mine}:not_newer", "--json")
    assert done.document["design"] == "not-newer"
    assert done.err.startswith("loaded")


def test_a_link_about_a_design_of_ones_own_opens_with_its_rule(kipviz, mine, tmp_path) -> None:
    rule = ("--rule", f"marker_epoch={mine}:not_newer")
    link = kipviz("play", STORY, *rule, "--json").document["permalink"]
    catalogue._registered.clear()
    assert "not-newer" in kipviz("play", link).err
    assert kipviz("play", link, *rule, "--json").document["design"] == "not-newer"


def test_a_view_of_a_file_is_a_card_of_a_page_and_of_a_payload(kipviz, mine, tmp_path) -> None:
    to = tmp_path / "run.json"
    done = kipviz("export", STORY, "--view", f"{mine}:states", "--to", str(to))
    assert done.status == 0
    payload = json.loads(to.read_text("utf-8"))
    rows = [row["cells"]["value"] for row in payload["rows"] if row["card"] == "view:states"]
    assert "TX_PENDING" in rows
    page = tmp_path / "run.html"
    assert kipviz("open", STORY, "--no-browser", "--to", str(page), "--view", f"{mine}:states").out
    with_view = page.stat().st_size
    kipviz("open", STORY, "--no-browser", "--to", str(page))
    assert page.stat().st_size < with_view
    picture = tmp_path / "run.svg"
    refused = kipviz("export", STORY, "--view", f"{mine}:states", "--to", str(picture))
    assert (refused.status, picture.exists()) == (2, False)
    assert "--view goes into .html and .json, not into .svg" in refused.err


def test_a_view_is_told_of_two_and_more_designs_wherever_it_changes(kipviz, mine: str) -> None:
    more = ("--view", f"{mine}:states", "--rule", f"marker_epoch={mine}:not_newer")
    done = kipviz("compare", STORY, "--designs", "repaired,finding-D,not-newer", *more)
    lines = done.out.splitlines()
    begin = lines.index("view states: The state of each shared record.")
    end = lines.index("", begin)
    told = [line.split() for line in lines[begin + 1 : end]]
    assert told[0] == ["0", "repaired", "no", "rows"]
    apart = [line for line in lines[begin:end] if "◇ differs" in line]
    assert {line.split()[0] for line in apart} == {"finding-D"}
    assert "AVAILABLE" in apart[0]
    both = kipviz("compare", STORY, "--designs", "repaired,finding-D", *more[:2], "--json")
    (view,) = both.document["views"]
    assert (view["view"], len(view["rows"][0]["cells"])) == ("states", 2)
    assert view["rows"][-1]["cells"][1]["differs"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--view", "{}:state"), "has no function state; did you mean states?"),
        (("--view", "{}:two"), "a view takes one argument, the world. two takes (one, other)"),
        (("--view", "{}"), "a function of your own must be FILE.py:FUNCTION, such as"),
        (("--view", "nowhere.py:f"), "there is no file nowhere.py"),
        (("--view", "{}:print"), "has no function print"),
        (("--rule", "{}:not_newer"), "--rule must be SLOT=FILE.py:FUNCTION, such as"),
        (("--rule", "marker={}:not_newer"), "marker"),
        (("--rule", "marker_epoch={}:two"), "Which marker resolves an acknowledgement?"),
        (
            ("--rule", "marker_epoch={0}:two", "--rule", "marker_epoch={0}:two"),
            "the slot marker_epoch has two rules",
        ),
    ],
)
def test_what_is_no_function_for_it_is_one_sentence(kipviz, mine, arguments, says) -> None:
    done = kipviz("open", STORY, "--no-browser", *(each.format(mine) for each in arguments))
    assert (done.status, done.out) == (2, "")
    (line,) = [line for line in done.err.splitlines() if line != "loaded"]
    assert says in line


@pytest.mark.parametrize(
    "code", ["def f(", "raise SystemExit('no\\nmore')", "1 / 0", "import nowhere"]
)
def test_a_file_that_cannot_be_run_is_one_sentence(kipviz, tmp_path: Path, code: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(code, "utf-8")
    done = kipviz("open", STORY, "--no-browser", "--view", f"{path}:f")
    assert done.status == 2
    (line,) = done.err.splitlines()
    assert line.startswith(f"kipviz: {path} cannot be run: ")


def test_a_view_without_columns_is_refused(kipviz, mine: str) -> None:
    done = kipviz(
        "compare", STORY, "--left", "repaired", "--right", "finding-D", "--view", f"{mine}:two"
    )
    assert done.status == 2


def test_the_help_says_that_the_option_runs_the_file(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["open", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("this option runs FILE.py") == 1
    assert told.count("This option runs FILE.py") == 1


@pytest.mark.parametrize("words", [("play", STORY), ("export", STORY, "--to", "x.md")])
def test_a_rule_that_fails_in_a_run_is_one_sentence_and_no_traceback(kipviz, mine, words) -> None:
    done = kipviz(*words, "--rule", f"lock_expiry={mine}:fails")
    assert done.status == 2
    told = done.err.splitlines()[-1]
    assert told.startswith("kipviz: Your rule fails, asked (InFlight(state=TX_PENDING")
    assert told.endswith(
        "The slot lock_expiry asks: What happens when the acquisition lock of a TX_PENDING record expires?"
    )


def test_a_study_a_review_and_a_repair_take_a_rule_of_ones_own(kipviz, mine, tmp_path) -> None:
    rule = ("--rule", f"marker_epoch={mine}:not_newer")
    cost = kipviz("study", "cost", "--designs", "not-newer", *rule, "--json")
    assert cost.document["rows"][-1][:2] == ["share group, not-newer", "not-newer"]
    folder = ("--into", str(tmp_path / "pack"))
    review = kipviz("review", "kip-1289-small", "--designs", "not-newer", *rule, *folder, "--json")
    assert {each["design"] for each in review.document["verdicts"]} == {"not-newer"}
    repair = kipviz("repair", "kip-1289-small", *rule, "--json")
    assert repair.document["from"] == "not-newer"
    refused = kipviz("study", "--designs", "not-newer", *rule)
    assert (refused.status, "--designs is for one study" in refused.err) == (2, True)
