"""`kipviz serve --script`: another program drives the cluster, a JSON object a line."""

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import kipviz
from kipviz.serving.script import DO, answer
from kipviz.serving.served_cluster import MISTAKE
from tests.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


class Script:
    def __init__(self, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kipviz", "serve", "--script", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.servers = json.loads(self.process.stdout.readline())["bootstrap_servers"]

    def do(self, line):
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        return status


@pytest.fixture(scope="module")
def script():
    made = Script()
    yield made
    made.end()


def test_a_client_is_watched_and_the_run_is_saved(script, tmp_path):
    client = KafkaProducer(
        bootstrap_servers=script.servers.split(","), transactional_id="t", client_id="mine"
    )
    client.init_transactions()
    client.begin_transaction()
    client.send("orders", value=b"one").get(PATIENCE)
    open_now = script.do({"do": "records", "partition": "orders-0"})["records"]
    assert open_now == [{"offset": 0, "value": "one", "fate": "open"}]
    assert any(
        c["software"].startswith("kafka-python") for c in script.do({"do": "clients"})["clients"]
    )
    client.abort_transaction()
    client.close()
    after = script.do({"do": "records", "partition": "orders-0"})["records"]
    assert after == [{"offset": 0, "value": "one", "fate": "aborted"}]
    asked = [
        each["request"] for each in script.do({"do": "requests", "source": "mine"})["requests"]
    ]
    assert [name for name in asked if name in ("InitProducerId", "Produce", "EndTxn")] == [
        "InitProducerId",
        "Produce",
        "EndTxn",
    ]
    assert script.do({"do": "save", "file": str(tmp_path / "run.trace")}) == {"ok": True}
    assert (tmp_path / "run.trace").stat().st_size > 1_000


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("not json", "a line is a JSON object"),
        ({"do": "hold"}, "unknown command 'hold'"),
        ({"do": "crash"}, "'broker' must be a whole number, not None"),
        ({"do": "crash", "broker": 9}, "9"),
        ({"do": "rule", "rule": "hold Endtxn"}, "no message 'Endtxn'"),
        ({"do": "deliver", "index": 0}, "0 deliveries are held"),
        ({"do": "records", "partition": "x-0"}, "no partition 'x-0'; the partitions are "),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence_and_the_next_line_is_read(
    script, line, why
):
    told = script.do(line)
    assert not told["ok"]
    assert why in told["error"]
    assert script.do({"do": "log"})["ok"]


NONSENSE = (None, -1, 2**70, 1.5, "", "x", "\0", "\ud800", "/nonexistent/x", [], {}, True)


@pytest.mark.parametrize("do", sorted(set(DO) - {"wait-held"}))
def test_no_value_of_a_command_kills_a_server(do, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("rule", "broker", "partition", "to", "step", "transactional_id", "client", "text")
    names += ("source", "file", "index", "action", "message", "id", "way")
    with kipviz.serve(time="model") as server:
        for value in NONSENSE:
            told = answer(server, {"do": do, **dict.fromkeys(names, value)})
            json.dumps(told)
            assert told["ok"] or told["error"]
            assert MISTAKE not in told.get("error", ""), told
        assert answer(server, {"do": "step"})["ok"]


def test_no_line_kills_a_server(script):
    script.process.stdin.buffer.write(b'\xff\xfe{"do": "step"}\n')
    script.process.stdin.buffer.flush()
    assert not json.loads(script.process.stdout.readline())["ok"]
    for line in ("[" * 100_000, "9" * 5_000, '{"do": NaN}', '{"do": {}}', "[]", "0", '"step"'):
        assert not script.do(line)["ok"], line[:20]
    told = script.do({"do": "save", "file": "/nonexistent/x"})
    assert (told["ok"], "/nonexistent/x" in told["error"]) == (False, True)
    assert script.do({"do": "step"})["ok"]


def test_the_end_of_stdin_stops_it():
    assert Script("--topic", "payments").end() == 0


def test_a_topic_and_a_story_do_not_go_together():
    words = [sys.executable, "-m", "kipviz", "serve", "kip-1289-small", "--topic", "a"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "either a story or --topic" in done.stderr


@pytest.mark.parametrize("ignored", [False, True])
def test_a_server_says_how_it_can_be_stopped(ignored):
    """A script's `kipviz serve &` ignores ^C."""
    hears = "SIG_IGN" if ignored else "default_int_handler"
    start = "import signal, sys; from kipviz.__main__ import main; sys.argv[1:] = ['serve']; "
    start += f"signal.signal(signal.SIGINT, signal.{hears}); sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", start],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as serving:
        serving.stdout.readline()
        said = serving.stdout.readline().rstrip()
        stop = f"kill {serving.pid}" if ignored else "^C"
        serving.send_signal(signal.SIGTERM if ignored else signal.SIGINT)
        status = serving.wait(timeout=PATIENCE)
    assert said == f"Only this machine can connect. {stop} stops it."
    assert status == (-signal.SIGTERM if ignored else 130)
