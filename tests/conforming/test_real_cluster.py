"""A real broker from jars, if there are some: KIPVIZ_KAFKA_JARS names the libs folder of a Kafka release."""

import contextlib
import gc
import json
import os
import shutil
import signal
import subprocess
import warnings
from pathlib import Path

import pytest

from kipviz.command.clusters import conform
from kipviz.command.main import main
from kipviz.conforming.asking import Names, topic_of
from kipviz.conforming.plain_client import PlainClient
from kipviz.conforming.playing import Playing
from kipviz.conforming.programs import ClientStep, Program, program
from kipviz.conforming.real_cluster import CannotStart, RealCluster, _free_port, release_of
from kipviz.conforming.rounds import play_round
from kipviz.recordings.files.request_log import exchanges_in

JARS = Path(os.environ.get("KIPVIZ_KAFKA_JARS", "/no/such/folder"))


@pytest.fixture
def release():
    if shutil.which("java") is None:
        pytest.skip("there is no java")
    try:
        return release_of(JARS)
    except CannotStart as why:
        pytest.skip(f"{why}: set KIPVIZ_KAFKA_JARS")


def test_a_program_is_played_at_a_real_broker_and_every_answer_is_accepted(release, capsys):
    status = main(["conform", "--kafka", str(JARS), "--programs", "3", "--mutants", "50", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (status, found["kafka"], found["programs"]) == (0, release, 3)
    assert found["refused"] == 0
    assert found["answers"] > 100
    assert found["mutants"]["asked"] == 50


def test_a_real_broker_is_watched(release, tmp_path, capsys):
    told = ("a init new", "a add now 0", "a produce now 0 next", "a stage now 0")
    made = (ClientStep(*words[:2], tuple(words[2:])) for words in map(str.split, told))
    topic = topic_of("p0")
    with RealCluster(JARS, tmp_path) as cluster:
        names = Names("p0", cluster.create([topic])[topic])
        Playing(Program(0, tuple(made), ("a",)), names, cluster).play()
        servers = cluster.bootstrap_servers
        status = main(["watch", "--bootstrap-server", servers, "--once", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (status, found["not_seen"], found["brokers"]) == (0, [], 1)
    assert [row["partition"] for row in found["rows"]] == [f"{topic}-0"]
    assert found["rows"][0]["blocks"]
    assert [row["group_id"] for row in found["pending"]] == ["p0-readers"]


# A name that SCRAM's messages cannot have as it is.
USER, SECRET = "watcher=1,2", "correct horse"
MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule required",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule required",
}
# What a watch may ask: it all only reads.
READING = {
    *("API_VERSIONS", "METADATA", "DESCRIBE_CLUSTER", "FIND_COORDINATOR", "LIST_GROUPS"),
    *("LIST_TRANSACTIONS", "DESCRIBE_TRANSACTIONS", "DESCRIBE_PRODUCERS", "LIST_OFFSETS"),
    *("OFFSET_FETCH", "CONSUMER_GROUP_DESCRIBE", "SHARE_GROUP_DESCRIBE", "DESCRIBE_CONFIGS"),
    *("DESCRIBE_SHARE_GROUP_OFFSETS", "SASL_HANDSHAKE", "SASL_AUTHENTICATE"),
    # kafka-python finds out by it how old a broker is.
    "DESCRIBE_ACLS",
}


@pytest.fixture
def secured(release, tmp_path):
    """Give a broker with a listener for TLS and SASL, and the properties of a client that may come in."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, certificate, both = (tmp_path / f"{name}.pem" for name in ("key", "certificate", "both"))
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1")
    to = ("-keyout", str(key), "-out", str(certificate))
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run([*made, *to, *subject], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    plain, controller, safe = (_free_port() for _ in range(3))
    listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{safe}"
    further = {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": listeners,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "sasl.enabled.mechanisms": ",".join(MODULES),
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{MODULES["PLAIN"]} "user_{USER}"="{SECRET}";',
        **{
            f"listener.name.sasl_ssl.{name.lower()}.sasl.jaas.config": f"{MODULES[name]};"
            for name in MODULES
            if name != "PLAIN"
        },
    }
    home = tmp_path / "home"
    home.mkdir()

    class Secured(RealCluster):
        def connect(self, node, client_id, numbers=None):
            return PlainClient(plain, client_id, numbers)

    def properties(mechanism, secret=SECRET, trusted=certificate):
        told = tmp_path / f"client-{len(list(tmp_path.glob('client-*')))}.properties"
        told.write_text(
            f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={MODULES[mechanism]} username="{USER}" password="{secret}";\n'
            f"ssl.truststore.type=PEM\nssl.truststore.location={trusted}\n"
        )
        return str(told)

    with Secured(JARS, home, further=further) as cluster:
        gives_scram_passwords(f"127.0.0.1:{plain}")
        yield cluster, f"127.0.0.1:{safe}", properties


def gives_scram_passwords(server):
    with warnings.catch_warnings():
        # kafka-python reads its own files in a way that Python 3.11 calls old; tests fail on warnings.
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaAdminClient
        from kafka.admin import UserScramCredentialUpsertion
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=[server])) as admin:
        for name in MODULES:
            if name != "PLAIN":
                made = [UserScramCredentialUpsertion(USER, name, SECRET)]
                assert admin.alter_user_scram_credentials(made) == {USER: None}


def test_a_watch_comes_in_by_tls_and_a_password_and_only_reads(secured, tmp_path, capsys):
    cluster, servers, properties = secured
    topic = topic_of("p0")
    told = ("a init new", "a add now 0", "a produce now 0 next", "a stage now 0", "s share-join")
    made = (ClientStep(*words[:2], tuple(words[2:])) for words in map(str.split, told))
    names = Names("p0", cluster.create([topic])[topic])
    Playing(Program(0, tuple(made), ("a",)), names, cluster).play()
    watch = ["watch", "--bootstrap-server", servers, "--once", "--json", "--command-config"]
    for mechanism in MODULES:
        assert main([*watch, properties(mechanism)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [row["partition"] for row in found["rows"]] == [f"{topic}-0"]
        assert found["not_seen"] == []
        # A wrong password and a certificate that nobody has signed are one sentence each.
        assert main([*watch, properties(mechanism, secret="wrong"), "--timeout", "3"]) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert "are sasl.mechanism, user name and password right" in said
    other = tmp_path / "other.pem"
    other.write_text(ssl_certificate_of_somebody_else(tmp_path))
    assert main([*watch, properties("PLAIN", trusted=other), "--timeout", "3"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "does ssl.truststore.location have who signed its certificate" in said
    with warnings.catch_warnings():
        # kafka-python leaves the socket open over which a handshake has failed.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    cluster.stop()
    asked = {x.api for x in exchanges_in(cluster.files[0].requests) if x.client == "kipviz-watch"}
    assert asked
    assert asked <= READING


def ssl_certificate_of_somebody_else(tmp_path):
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1")
    to = ("-keyout", str(tmp_path / "k2.pem"), "-out", str(tmp_path / "c2.pem"))
    subprocess.run([*made, *to, "-subj", "/CN=elsewhere"], check=True, capture_output=True)
    return (tmp_path / "c2.pem").read_text()


@pytest.mark.slow
def test_three_brokers_are_played_at_while_leaders_move_and_one_is_killed(release, tmp_path):
    made = program(7, 24, brokers=3)
    moves = [ClientStep("o", "move", (place,)) for place in ("transaction", "group", "0")]
    steps = (*made.steps[:10], *moves, *made.steps[10:18], ClientStep("o", "kill", ("0",)))
    found = play_round(JARS, tmp_path, [made.but(steps=(*steps, *made.steps[18:]))], lambda _: None)
    assert found.played == 1
    assert found.judged.refused == {}
    assert len(found.judged.report.accepted) > 50


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--kafka"),
        (["--kafka", "/no/such/folder"], "there is no folder /no/such/folder"),
        (["--kafka", ".", "--mutants", "-1"], "it must be a whole number of at least 0"),
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
    assert "--keep takes an empty or new folder" in capsys.readouterr().err


def test_a_kill_ends_the_work_as_an_exception_does_so_that_no_broker_stays():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, conform._stopped_in_order():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
