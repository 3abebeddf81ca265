"""Serve the site on this machine only, like a static host: MIME types and gzip, nothing else."""

from __future__ import annotations

import gzip
import http.server
import mimetypes
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

TYPES = {
    ".wasm": "application/wasm",
    ".mjs": "text/javascript",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
PACKED = ("text/", "application/json", "application/wasm", "image/svg+xml")


class Quiet(http.server.ThreadingHTTPServer):
    """A server that does not report pages that were left before they were complete."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, except when the browser closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def server(root: Path, port: int) -> http.server.ThreadingHTTPServer:
    """Return a server of a folder on loopback; its `sent` lists (path, bytes) of every response."""
    root = root.resolve()
    sent: list[tuple[str, int]] = []

    @cache
    def compress(file: Path) -> bytes:
        return gzip.compress(file.read_bytes(), 6, mtime=0)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            file = (root / unquote(self.path.partition("?")[0]).lstrip("/")).resolve()
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or not file.is_relative_to(root):
                self._answer(404, b"There is no such page.", "text/plain")
                return
            kind = TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0]
            kind = kind or "application/octet-stream"
            pack = kind.startswith(PACKED) and "gzip" in self.headers.get("Accept-Encoding", "")
            self._answer(200, compress(file) if pack else file.read_bytes(), kind, pack=pack)

        def _answer(self, status: int, body: bytes, kind: str, *, pack: bool = False) -> None:
            sent.append((self.path, len(body)))
            self.send_response(status)
            charset = "; charset=utf-8" if kind.startswith("text/") else ""
            self.send_header("Content-Type", kind + charset)
            self.send_header("Cache-Control", "max-age=600")  # as GitHub Pages sends it
            self.send_header("Content-Length", str(len(body)))
            if pack:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
            """Print nothing: `sent` has what was sent."""

    made = Quiet(("127.0.0.1", port), Handler)
    made.sent = sent  # type: ignore[attr-defined]
    return made
