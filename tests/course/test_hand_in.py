"""A hand-in is one line of text, and every claim in it is judged again."""

import json
import re
import zlib
from base64 import urlsafe_b64encode
from pathlib import Path

import msgspec
import pytest

import kipviz
from kipviz.command.main import main
from kipviz.course.hand_in import BadHandIn, HandIn, LabClaim, read, read_folder, write
from kipviz.course.handout import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def exercise():
    lab = kipviz.lab("repair-the-lock")
    assert lab.check(lab.open("lock_expiry=pinned_until_marker")).solved
    return lab


@pytest.fixture(scope="module")
def line(exercise):
    return kipviz.hand_in("team 7", exercise)


def test_a_hand_in_is_one_line_that_reads_back(line, exercise):
    assert "\n" not in line
    assert read(line) == HandIn("team 7", 0, 0, (exercise.checked,))
    assert write(read(line)) == line


def test_a_line_that_was_cut_off_or_changed_is_noticed(line):
    head, body, check = line.split(".")
    for wrong in (line[:-1], line[5:], f"{head}.{body[:-9]}.{check}", f"{head}.{body}.00000000"):
        with pytest.raises(BadHandIn):
            read(wrong)


def test_a_line_that_unpacks_to_very_much_is_refused():
    bomb = urlsafe_b64encode(zlib.compress(b"0" * 50_000_000, 9)).decode()
    with pytest.raises(BadHandIn, match="checksum"):
        read(f"kh1.{bomb}.00000000")


def test_a_folder_is_read_into_a_table_and_false_claims_are_shown(tmp_path, exercise, line, capsys):
    link = kipviz.permalink(kipviz.lab("repair-the-lock").open())
    (tmp_path / "a.txt").write_text(line)
    (tmp_path / "b.txt").write_text(
        write(HandIn("b", 1, 1, (LabClaim("repair-the-lock", 2, link), LabClaim("nolab", 1, link))))
    )
    (tmp_path / "c.txt").write_text(line[:60])
    (tmp_path / "notes.md").write_text("nothing")
    rows = read_folder(str(tmp_path))
    assert [(row.file, row.reached, row.of) for row in rows[:2]] == [
        ("a.txt", 2, 2),
        ("b.txt", 0, 2),
    ]
    assert rows[0].remark == ""
    assert rows[1].remark == "Claims 2 goals, and the run reaches 0."
    assert "nolab" in rows[2].remark
    assert "copy the whole line" in rows[3].remark
    assert main(["course", "read", str(tmp_path), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 4


def test_a_hand_in_is_found_in_a_mail_with_a_mark_of_its_editor_wrapped_quoted_or_beside_another(
    tmp_path,
):
    lab = kipviz.lab("survive-the-crash")
    assert lab.check(lab.open()).reached == 2

    def of(team: str) -> str:
        return kipviz.hand_in(team, lab)

    def wrap_line(line: str) -> str:
        return "\n".join(line[at : at + 76] for at in range(0, len(line), 76))

    texts = {
        "editor": b"\xef\xbb\xbf" + of("team 1").encode() + b"\r\n",
        "shell": (of("team 2") + "\r\n").encode("utf-16"),
        "mail": f"Hello,\nhere is mine:\n\n{wrap_line(of('team 3'))}\nAnn".encode(),
        "quoted": "\n".join(f"> {each}" for each in wrap_line(of("team 4")).splitlines()).encode(),
        "repr": repr(of("team 5")).encode(),
        "two": f"{of('team 6')}\n{of('team 7')}".encode(),
        "whole-and-cut": f"{of('team 8')[:-20]}\n{of('team 8')}".encode(),
    }
    for name, data in texts.items():
        (tmp_path / f"{name}.txt").write_bytes(data)
    rows = read_folder(str(tmp_path))
    found = {name: [r.reached for r in rows if r.file == f"{name}.txt"] for name in texts}
    wanted = {name: [2] for name in texts}
    assert found == {**wanted, "two": [2, 2], "whole-and-cut": [0, 2]}
    cut = next(row for row in rows if row.file == "whole-and-cut.txt")
    assert "copy the whole line" in cut.remark


def test_a_hand_in_that_was_pasted_twice_counts_once_and_the_table_says_where_it_is_first(
    tmp_path, line
):
    quoted = "\n".join(f"> {line[at : at + 60]}" for at in range(0, len(line), 60))
    (tmp_path / "a.txt").write_text(f"{line}\n\n{quoted}\n")
    (tmp_path / "b.txt").write_text(line)
    counted, below, elsewhere = read_folder(str(tmp_path))
    assert (counted.reached, counted.remark) == (2, "")
    assert (below.who, below.of) == ("team 7", 0)
    assert below.remark == "The same hand-in as above in this file: it counts once."
    assert elsewhere.remark == "The same hand-in as in a.txt: it counts once."


def test_what_is_no_text_or_no_hand_in_is_one_sentence_without_words_of_python(tmp_path):
    (tmp_path / "bytes.txt").write_bytes(bytes(range(256)))
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "letter.txt").write_text("I could not do it.")
    remarks = {row.file: row.remark for row in read_folder(str(tmp_path))}
    assert remarks["bytes.txt"] == "The file is not text."
    assert remarks["empty.txt"] == "The file is empty."
    assert remarks["folder.txt"] == "The file cannot be read: Is a directory."
    assert remarks["letter.txt"].startswith("A hand-in begins with kh1")


@pytest.mark.parametrize("who", [None, 7, "", " ", "a\nb", "x" * 81, "\x1b[31m"])
def test_a_name_that_no_table_can_show_is_refused_before_the_line_is_made(exercise, who):
    with pytest.raises(
        ValueError, match=r"^the name must be a text of 1 to 80 letters in one line"
    ):
        kipviz.hand_in(who, exercise)


def test_numbers_that_nobody_can_reach_are_refused():
    for given, why in (
        (HandIn("a", 5, 99, ()), "a hand-in cannot have 99 right answers out of 5"),
        (HandIn("a", -1, -1, ()), "a hand-in cannot have -1 right answers out of -1"),
        (
            HandIn("a", 0, 0, (LabClaim("deliver-twice", -3, ""),)),
            "a hand-in cannot have -3 goals of",
        ),
    ):
        data = msgspec.json.encode(given)
        text = urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
        with pytest.raises(BadHandIn, match=why):
            read(f"kh1.{text}.{zlib.crc32(data):08x}")


def test_a_story_of_the_learners_own_travels_in_the_line(tmp_path):
    lab = kipviz.lab("write-the-client")
    lab.check(lab.open())
    (tmp_path / "a.txt").write_text(kipviz.hand_in("a", lab))
    assert [(row.reached, row.remark) for row in read_folder(str(tmp_path))] == [(1, "")]


def test_a_lab_that_was_not_checked_cannot_be_handed_in():
    with pytest.raises(ValueError, match="check deliver-twice first"):
        kipviz.hand_in("a", kipviz.lab("deliver-twice"))


def test_the_command_line_shows_a_task_its_hints_and_judges_a_link(exercise, capsys):
    assert main(["course"]) == 0
    assert "repair-the-lock" in capsys.readouterr().out
    assert main(["lab", "repair-the-lock", "--hints", "1"]) == 0
    assert "Hint: " in capsys.readouterr().out
    assert main(["lab", "repair-the-lock", "--check", exercise.checked.link]) == 0
    assert "2 of 2 goals" in capsys.readouterr().out
    assert main(["lab", "deliver-twice", "--check", exercise.checked.link]) == 1
    capsys.readouterr()
    assert main(["lab", "repair"]) == 2
    assert "nearest" in capsys.readouterr().err
    assert main(["course", "read"]) == 2


def test_the_students_notebooks_have_no_answers(tmp_path, capsys):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["Why?\n", "<details>no</details>"]},
        {
            "cell_type": "code",
            "metadata": {"tags": ["answer"]},
            "source": ["secret"],
            "outputs": [],
        },
        {
            "cell_type": "code",
            "metadata": {},
            "source": ["1"],
            "outputs": ["seen"],
            "execution_count": 1,
        },
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    out = tmp_path / "out"
    assert main(["course", "build", str(out), "--notebooks", str(tmp_path / "in")]) == 0
    made = json.loads((out / "a.ipynb").read_text())
    assert [cell["source"] for cell in made["cells"]] == [["Why?"], ["1"]]
    assert made["cells"][1]["outputs"] == []
    assert main(["course", "build", str(tmp_path / "in"), "--notebooks", str(tmp_path / "in")]) == 2
    assert main(["course", "build", str(out), "--notebooks", str(tmp_path)]) == 2
    capsys.readouterr()


def test_what_students_are_given_has_no_answer_of_ours_and_no_link_that_leads_nowhere(tmp_path):
    names = build(ROOT / "notebooks", tmp_path)
    assert len(names) == len(list((ROOT / "notebooks").glob("*.ipynb")))
    for name in names:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<details>" not in text
        cells = json.loads(text)["cells"]
        assert not any(cell.get("outputs") for cell in cells)
        words = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", words):
            assert (tmp_path / target).is_file(), (name, target)
