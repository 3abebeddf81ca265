"""A hand-in is one line of text, and every claim in it is judged again."""

import json
import zlib
from base64 import urlsafe_b64encode

import pytest

import kipviz
from kipviz.command.main import main
from kipviz.course.hand_in import BadHandIn, Entry, HandIn, read, read_folder, write


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
        write(HandIn("b", 1, 1, (Entry("repair-the-lock", 2, link), Entry("nolab", 1, link))))
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


def test_a_story_of_the_learners_own_travels_in_the_line(tmp_path):
    lab = kipviz.lab("write-the-client")
    lab.check(lab.open())
    (tmp_path / "a.txt").write_text(kipviz.hand_in("a", lab))
    assert [(row.reached, row.remark) for row in read_folder(str(tmp_path))] == [(1, "")]


def test_a_lab_that_was_not_checked_cannot_be_handed_in():
    with pytest.raises(ValueError, match="Check deliver-twice first"):
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
