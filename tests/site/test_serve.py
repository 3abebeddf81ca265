"""The server behind `make site ARGS=serve`: what a person reads in its terminal."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from kipviz.site.serve import server


@pytest.fixture
def served(tmp_path):
    """A server of one large file, which waits at its end for all that it was asked."""
    (tmp_path / "large.json").write_bytes(bytes(range(256)) * 100_000)
    made = server(tmp_path, 0)
    made.daemon_threads = False
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(10)


def leave(made) -> None:
    """Ask for the file and hang up before it is there, as a browser does when its reader goes on."""
    with socket.create_connection(made.server_address) as asking:
        asking.sendall(b"GET /large.json HTTP/1.1\r\nHost: here\r\n\r\n")
        asking.recv(1_000)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_a_page_that_is_left_early_prints_no_traceback(served, capsys):
    leave(served)
    served.shutdown()
    served.server_close()
    assert capsys.readouterr().err == ""


def test_a_mistake_of_the_server_is_still_printed(served, capsys):
    try:
        raise ValueError("a mistake")
    except ValueError:
        served.handle_error(None, ("127.0.0.1", 1))
    assert "ValueError: a mistake" in capsys.readouterr().err
