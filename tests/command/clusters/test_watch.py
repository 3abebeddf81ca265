"""`kipviz watch`: its text, its JSON, its statuses, and ^C."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

import kipviz
from kipviz.command.main import main
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE
from tests.watching.wire import attach

# kafka-python leaves a socket to the collector where a broker went away.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@pytest.fixture(scope="module")
def server():
    spec = cluster_of(["orders"])
    spec = spec.but(settings=spec.settings.but(partition_verification=False))
    with kipviz.serve(spec, design="kafka-tv1") as served:
        with attach(served) as (_, wire):
            wire.begin("app-1")
            wire.produce("ghost", (4711, 0))
        yield served


def test_one_look_as_text_ends_with_1_where_a_transaction_hangs(server, capsys):
    assert main(["watch", "--bootstrap-server", server.bootstrap_servers, "--once"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert "orders-0: open transaction from offset 1 (hanging)" in out
    assert f"{server.bootstrap_servers} abort --topic orders --partition 0 --start-offset 1" in out


def test_one_look_as_json_has_every_field(server, capsys):
    status = main(["watch", "--bootstrap-server", server.bootstrap_servers, "--once", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (status, document["wrong"]) == (1, True)
    assert {"owned", "rows", "pending", "shares", "not_seen", "at_ms"} <= document.keys()
    assert [row["hanging"] for row in document["rows"]] == ["", "hanging"]


def test_it_looks_again_until_it_is_interrupted_and_ends_quietly_with_130(server):
    command = [sys.executable, "-m", "kipviz", "watch", "--every", "0.2", "--json"]
    with subprocess.Popen(
        [*command, "--bootstrap-server", server.bootstrap_servers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        looks = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=PATIENCE)
    assert (watching.returncode, err) == (130, "")
    assert looks[0]["at_ms"] < looks[1]["at_ms"]


def test_the_looks_are_on_a_page_of_this_machine_too(server):
    command = [sys.executable, "-m", "kipviz", "watch", "--every", "0.2", "--json", "--page", "0"]
    with subprocess.Popen(
        [*command, "--bootstrap-server", server.bootstrap_servers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        said = watching.stderr.readline()
        # A look is on the page before it is printed.
        watching.stdout.readline()
        address = said.rpartition(" ")[2].strip()
        with urllib.request.urlopen(address) as answer:
            page, headers = answer.read().decode(), answer.headers
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=PATIENCE)
    assert address.startswith("http://127.0.0.1:")
    assert "orders-0: open transaction from offset 1 (hanging)" in page
    assert "something is wrong" in page
    assert '<meta http-equiv="refresh" content="1">' in page
    assert "<script" not in page
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--once", "--page", "0"], "--page shows repeated queries, and --once makes only one"),
        (["--page", "70000"], "a port must be a number from 0 to 65535"),
    ],
)
def test_a_page_that_cannot_be_is_one_sentence(server, arguments, said, capsys):
    assert main(["watch", "--bootstrap-server", server.bootstrap_servers, *arguments]) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_missing_client_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "kafka", None)
    assert main(["watch", "--bootstrap-server", "localhost:9092", "--once"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said == (
        "kipviz: kipviz watch needs the package kafka-python, which is not installed; "
        "install it with: pip install 'kipviz[watch]'"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bootstrap-server", "localhost"], "a bootstrap server must be HOST:PORT"),
        ([], "--bootstrap-server"),
        (["--bootstrap-server", "h:1", "--every", "0"], "it must be seconds from 0.1"),
        (["--bootstrap-server", "h:1", "--every", "1", "--once"], "not allowed with"),
        (["--bootstrap-server", "h:1", "--command-config", "/no/such"], "cannot read /no/such"),
    ],
)
def test_bad_input_is_one_sentence(arguments, said, capsys):
    assert main(["watch", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
