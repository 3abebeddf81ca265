"""A fixture for pytest: put `pytest_plugins = ["kipviz.serving.fixture"]` into conftest.py.

    @pytest.mark.kipviz(seed=5, rules=["lose the 1st EndTxnResponse"])
    def test_my_client_commits_once(kipviz_server):
        run_my_client(kipviz_server.bootstrap_servers)
        assert [value for _, value, fate in kipviz_server.records("orders-0")] == ["once"]

The marker takes what `kipviz.serve` takes. pytest is not a dependency of kipviz: a user of this module has it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kipviz.serving.serve import Server, serve


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "kipviz(given, **settings): what kipviz.serve is called with"
    )


@pytest.fixture
def kipviz_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Serve a simulated cluster during one test."""
    marker = request.node.get_closest_marker("kipviz")
    given = marker.args if marker is not None else ()
    settings = marker.kwargs if marker is not None else {}
    with serve(*given, **settings) as server:
        yield server
