"""Where Kafka's Java client comes from, and what is said where it cannot come."""

import pytest

from tests.serving import client_programs, kafka_jars


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A machine without the jars, and without Maven and Java."""
    monkeypatch.setattr(kafka_jars, "FOLDER", tmp_path / "jars")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(kafka_jars.NAMED, raising=False)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def bring(folder, monkeypatch, contents):
    """Put a Maven there that brings files with these contents, and says what real ones say if there are none."""
    lines = [f"printf %s '{text}' >\"$1/{name}\"" for name, text in contents.items()]
    failing = ["echo '[ERROR] Could not transfer artifact'; exit 1"]
    script = ["#!/bin/sh", 'for each; do :; done; set -- "${each#*=}"', *(lines or failing)]
    (folder / "mvn").write_text("\n".join(script) + "\n")
    (folder / "mvn").chmod(0o755)


def test_without_maven_a_developer_goes_on_and_ci_does_not(empty, monkeypatch, capsys):
    assert kafka_jars.main() == 0
    assert capsys.readouterr().err == (
        "kipviz: there is no mvn here, which fetches the jars of Kafka's Java client; "
        "the tests with this client are skipped.\n"
    )
    monkeypatch.setenv("CI", "true")
    assert kafka_jars.main() == 1


def test_an_index_that_cannot_be_reached_is_one_sentence(empty, monkeypatch, capsys):
    bring(empty, monkeypatch, {})
    assert kafka_jars.main() == 1
    assert capsys.readouterr().err == (
        "kipviz: Maven brings no jars of Kafka's Java client: [ERROR] Could not transfer artifact.\n"
    )


def test_a_jar_with_another_checksum_is_not_taken(empty, monkeypatch, capsys):
    bring(empty, monkeypatch, dict.fromkeys(kafka_jars.SHA256, "other"))
    assert kafka_jars.main() == 1
    assert "another kafka-clients-4.4.0.jar" in capsys.readouterr().err
    assert not kafka_jars.FOLDER.exists()


@pytest.mark.parametrize("outcome", [pytest.skip.Exception, pytest.fail.Exception])
def test_a_missing_client_is_skipped_at_home_and_fails_in_ci(empty, monkeypatch, outcome):
    if outcome is pytest.fail.Exception:
        monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(client_programs.importlib.util, "find_spec", lambda _: None)
    monkeypatch.delenv(client_programs.PYTHON, raising=False)
    for name, missing in (("java", "kafka-clients-4.4.0.jar"), ("librdkafka", "confluent-kafka")):
        with pytest.raises(outcome, match=missing):
            client_programs.command(name)


def test_a_jar_that_changed_is_noticed(empty):
    kafka_jars.FOLDER.mkdir()
    for name in kafka_jars.SHA256:
        (kafka_jars.FOLDER / name).write_text("other")
    with pytest.raises(kafka_jars.NoClient, match="not here"):
        kafka_jars.jars()


def test_the_pom_names_the_jars_whose_checksums_are_known():
    pom = (kafka_jars.HERE / "pom.xml").read_text()
    for name in kafka_jars.SHA256:
        artifact, _, version = name.removesuffix(".jar").rpartition("-")
        assert f"<artifactId>{artifact}</artifactId>" in pom
        assert f"<version>{version}</version>" in pom
