"""Debian's own Firefox, driven by WebDriver BiDi: a browser that shares no line with Chromium draws the same pages.

Playwright's Firefox is a build of its own, which Debian does not have, and its way to a plain one asks Firefox 153 for
commands that come later; Debian has no geckodriver. What is needed here is a dozen commands of the standard
(https://www.w3.org/TR/webdriver-bidi/), sent over one WebSocket.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from websockets.sync.client import ClientConnection, connect

if TYPE_CHECKING:
    from types import TracebackType

SECONDS = 60
# Names are not looked up, and nothing is fetched that no page asks for.
PREFERENCES: dict[str, bool | int | str] = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.allow_hijacking_localhost": False,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
    "network.proxy.type": 1,
    "services.settings.server": "http://127.0.0.1:9/",
    "toolkit.telemetry.enabled": False,
}
# Private code points of the standard for keys without a letter.
KEYS = {
    "Enter": "\ue007",
    "Shift": "\ue008",
    "Escape": "\ue00c",
    "PageUp": "\ue00e",
    "PageDown": "\ue00f",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}


def find_firefox() -> str | None:
    """The machine's Firefox, if there is one."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """A Firefox without a window, and one session in it. `scheme` is "light" or "dark".

    Attributes:
        mistakes: JavaScript errors that no page caught.
    """

    def __init__(self, program: str, scheme: str = "light") -> None:
        self._program = program
        self._scheme = scheme
        self._count = 0
        self.mistakes: list[str] = []

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            profile = Path(tempfile.mkdtemp(prefix="kipviz-firefox-"))
            undo.callback(shutil.rmtree, profile, ignore_errors=True)
            dark = self._scheme == "dark"
            theme: dict[str, bool | int | str] = {
                "layout.css.prefers-color-scheme.content-override": 0 if dark else 1
            }
            lines = [
                f"user_pref({json.dumps(name)}, {json.dumps(value)});"
                for name, value in (PREFERENCES | theme).items()
            ]
            (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
            log = undo.enter_context((profile / "firefox.log").open("w", encoding="utf-8"))
            words = ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile"]
            process = subprocess.Popen(
                [self._program, *words, str(profile), "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            undo.callback(_stop, process)
            self._socket = undo.enter_context(_connect(profile, process))
            self._send("session.new", capabilities={})
            self._send("session.subscribe", events=["log.entryAdded"])
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=SECONDS))
            if told.get("method") == "log.entryAdded" and told["params"]["type"] == "javascript":
                self.mistakes.append(str(told["params"]["text"]))
            if told.get("id") == number:
                if told["type"] == "error":
                    raise RuntimeError(f"{method}: {told['message']}")
                result: dict[str, Any] = told["result"]
                return result

    def open(self, address: str, width: int, height: int) -> Page:
        """Open an address in a page of its own, and wait until it is loaded."""
        context = self._send("browsingContext.create", type="tab")["context"]
        self._send(
            "browsingContext.setViewport",
            context=context,
            viewport={"width": width, "height": height},
        )
        self._send("browsingContext.navigate", context=context, url=address, wait="complete")
        return Page(self, context)


class Page:
    """One page of a Firefox."""

    def __init__(self, firefox: Firefox, context: str) -> None:
        self._firefox = firefox
        self._context = context

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a JavaScript function with plain values; gives what it comes to, a promise's value too."""
        given = ", ".join(map(json.dumps, arguments))
        made = self._firefox._send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify((await ({function})({given})) ?? null))()",
            target={"context": self._context},
            awaitPromise=True,
            userActivation=True,
        )
        if made["type"] == "exception":
            raise RuntimeError(made["exceptionDetails"]["text"])
        return json.loads(made["result"]["value"])

    def wait(self, function: str, *arguments: Any, seconds: float = SECONDS) -> Any:
        """Wait until a function gives something true, and give that."""
        until = time.monotonic() + seconds
        while True:
            found = self.evaluate(function, *arguments)
            if found:
                return found
            assert time.monotonic() < until, f"it never became true: {function} {arguments}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Press keys one after the other; "Shift+ArrowRight" holds Shift."""
        actions = []
        for key in keys:
            parts = [KEYS.get(part, part) for part in key.split("+")] if len(key) > 1 else [key]
            actions += [{"type": "keyDown", "value": part} for part in parts]
            actions += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self._perform({"type": "key", "id": "keys", "actions": actions})

    def click(self, selector: str, words: str = "") -> None:
        """Click into the middle of the first visible element with these words."""
        x, y = self.wait(
            """(selector, words) => {
              const node = [...document.querySelectorAll(selector)].find(one => one.checkVisibility() && one.textContent.includes(words));
              if (!node) return null;
              node.scrollIntoView({ block: 'nearest' });
              const { left, top, width, height } = node.getBoundingClientRect();
              return [Math.round(left + width / 2), Math.round(top + height / 2)];
            }""",
            selector,
            words,
        )
        actions: list[dict[str, Any]] = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._perform({"type": "pointer", "id": "mouse", "actions": actions})

    def _perform(self, source: dict[str, Any]) -> None:
        self._firefox._send("input.performActions", context=self._context, actions=[source])

    def picture(self, path: Path) -> None:
        """Write what is in sight as a PNG."""
        made = self._firefox._send("browsingContext.captureScreenshot", context=self._context)
        path.write_bytes(b64decode(made["data"]))

    def print_page(self) -> bytes:
        """The page on paper, as a PDF."""
        made = self._firefox._send("browsingContext.print", context=self._context)
        return b64decode(made["data"])

    def close(self) -> None:
        """Close the page."""
        self._firefox._send("browsingContext.close", context=self._context)


def _connect(profile: Path, process: subprocess.Popen[bytes]) -> ClientConnection:
    """Connect to the port that Firefox has written into its profile."""
    until = time.monotonic() + SECONDS
    written = profile / "WebDriverBiDiServer.json"
    while True:
        with contextlib.suppress(OSError, ValueError):
            server = json.loads(written.read_text(encoding="utf-8"))
            address = f"ws://{server['ws_host']}:{server['ws_port']}/session"
            return connect(address, max_size=None, proxy=None)
        said = (profile / "firefox.log").read_text(encoding="utf-8")
        assert process.poll() is None, f"Firefox did not start:\n{said}"
        assert time.monotonic() < until, f"Firefox does not answer:\n{said}"
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
