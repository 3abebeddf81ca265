"""The pytest fixture that kipviz ships, used as a client's maintainer would."""

import warnings

import pytest

from kipviz.serving.fixture import kipviz_server, pytest_configure
from tests.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

server = kipviz_server
__all__ = ["kipviz_server", "pytest_configure", "server"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


def test_without_a_marker_nothing_goes_wrong(server):
    client = KafkaProducer(bootstrap_servers=server.bootstrap_servers.split(","))
    client.send("orders", value=b"plain").get(PATIENCE)
    client.close()
    assert server.records("orders-0") == ((0, "plain", "committed"),)
