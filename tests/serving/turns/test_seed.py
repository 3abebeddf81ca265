"""A seed decides the order in which a served cluster takes what is possible, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

import kipviz
from kipviz.cluster.actions import Deliver
from kipviz.serving.delivery_rules import rule
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of
from tests.serving.frames import MODEL
from tests.soaking.raw_client import encode_frame

ROOT = Path(__file__).parents[3]
SHIPPED = """
import pytest, socket
from tests.soaking.raw_client import encode_frame

@pytest.mark.kipviz(seed=5, rules=["lose the 1st MetadataResponse"])
def test_a_lost_answer(kipviz_server):
    host, _, port = kipviz_server.bootstrap_servers.split(",")[0].partition(":")
    for there in (False, True):
        with socket.create_connection((host, int(port))) as client:
            client.sendall(encode_frame(3, 12, client_id="c", Topics=None))
            assert bool(client.recv(1)) == there
    assert [name for _, name in kipviz_server.requests("c")] == ["Metadata", "Metadata"]
    assert kipviz_server.run().scenario.seed == 5
"""


def order(seed):
    """Return the order in which five requests that have arrived are delivered."""
    cluster = ServedCluster(MODEL, {1: 9001, 2: 9002}, seed=seed)
    cluster.rules.append(rule("hold request"))
    for name in "abcde":
        cluster.feed(cluster.connect(1), encode_frame(3, 12, client_id=name, Topics=None)[4:])
    cluster.rules.clear()
    cluster.forget_judgements()
    cluster.run()
    actions = [cluster.trace.node(node).action for node in cluster.trace.line[1:]]
    return [a.source for a in actions if isinstance(a, Deliver) and a.way == "request"]


def test_without_a_seed_the_order_is_fixed():
    assert order(None) == order(None) == [f"{name}/1" for name in "abcde"]


def test_a_seed_is_an_order():
    orders = [order(seed) for seed in range(8)]
    assert orders == [order(seed) for seed in range(8)]
    assert all(sorted(each) == order(None) for each in orders)
    assert len(set(map(tuple, orders))) > 4


def test_a_saved_run_has_its_seed(tmp_path):
    with kipviz.serve(cluster_of(["orders"], brokers=1), seed=7) as server:
        server.crash(1)
        server.save(str(tmp_path / "run.trace"))
    from kipviz.checking.single_run import runs

    assert runs.load(str(tmp_path / "run.trace")).scenario.seed == 7


@pytest.mark.parametrize("seed", ["7", 1.5, True, []])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError, match="a seed must be a whole number, not "):
        kipviz.serve(seed=seed)


def test_the_shipped_marker_takes_a_seed_and_faults(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["kipviz.serving.fixture"]\n')
    (tmp_path / "test_client.py").write_text(SHIPPED)
    words = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*words, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
