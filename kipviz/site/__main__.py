"""`make site`: build the site in build/site; with `serve`, show it on this machine."""

from __future__ import annotations

import sys

from kipviz.site import lite
from kipviz.site.build import build
from kipviz.site.runtime import PACKAGE, FetchError, fetch, fetch_wheels
from kipviz.site.serve import server

ROOT = PACKAGE.parent
PORT = 8899


def main(words: list[str]) -> int:
    """Carry out the command; return the exit status."""
    if words not in ([], ["serve"]):
        print(
            f"kipviz: the site takes `serve` or nothing, not {' '.join(words)!r}", file=sys.stderr
        )
        return 2
    into = ROOT / "build" / "site"
    try:
        fetched = fetch(ROOT / "build" / "runtime")
        wheels = fetch_wheels(lite.LOCK, ROOT / "build" / "wheels")
        print("kipviz: playing every story; this takes about a minute", file=sys.stderr)
        count = build(ROOT, into, fetched)
        notebooks = lite.build(ROOT, into / "lite", fetched, wheels)
    except FetchError as wrong:
        print(f"kipviz: {wrong}", file=sys.stderr)
        return 2
    size = sum(file.stat().st_size for file in into.rglob("*") if file.is_file())
    print(f"build/site: {count} stories, {notebooks} notebooks, {size / 1e6:.0f} MB")
    if words:
        with server(into, PORT) as shown:
            print(f"http://127.0.0.1:{PORT}/  (Ctrl+C ends it)", flush=True)
            try:
                shown.serve_forever()
            except KeyboardInterrupt:
                return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
