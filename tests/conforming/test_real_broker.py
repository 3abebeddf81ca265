"""A real broker from jars, if there are some: KIPVIZ_KAFKA_JARS names the libs folder of a Kafka release."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kipviz.command.main import main
from kipviz.conforming.real_broker import CannotStart, release_of

JARS = Path(os.environ.get("KIPVIZ_KAFKA_JARS", "/no/such/folder"))


def test_a_program_is_played_at_a_real_broker_and_every_answer_is_accepted(capsys):
    try:
        release = release_of(JARS)
    except CannotStart as why:
        pytest.skip(f"{why}: set KIPVIZ_KAFKA_JARS")
    if shutil.which("java") is None:
        pytest.skip("there is no java")
    status = main(["conform", "--kafka", str(JARS), "--programs", "3", "--mutants", "50", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (status, found["kafka"], found["programs"]) == (0, release, 3)
    assert found["refused"] == 0
    assert found["answers"] > 100
    assert found["mutants"]["asked"] == 50


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--kafka"),
        (["--kafka", "/no/such/folder"], "there is no folder /no/such/folder"),
        (["--kafka", ".", "--mutants", "-1"], "it takes a whole number from 0"),
        (["--kafka", ".", "--program", "/no/such"], "cannot read /no/such"),
        (["--kafka", "."], "name the libs folder of a Kafka release"),
    ],
)
def test_bad_input_is_one_sentence(arguments, said, capsys):
    assert main(["conform", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_folder_to_keep_in_has_to_be_empty(tmp_path, capsys):
    for name in ("kafka-clients-4.4.0", "kafka_2.13-4.4.0", "log4j-core-2.25.4"):
        (tmp_path / f"{name}.jar").touch()
    assert main(["conform", "--kafka", str(tmp_path), "--keep", str(tmp_path)]) == 2
    assert "--keep takes a folder that is empty" in capsys.readouterr().err
