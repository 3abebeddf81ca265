"""A private JupyterLab and a Chromium in front of it, for tests that look at the real page.

One server and one browser serve a whole test run. The server's folder is a copy: no test can change
a notebook of the project. Nothing but this machine can be reached; an attempt is recorded.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlsplit

from tests.patience import PATIENCE

if TYPE_CHECKING:
    from types import TracebackType

    from playwright.sync_api import Browser, BrowserContext, Page, Request

LOOPBACK = "127.0.0.1"
# Playwright's own list, which an argument of ours replaces, and what Chromium 150 and later draw beside every
# page of a window: the two pages of the address bar's list took a fifth of the browser's time.
NOT_NEEDED = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
    "PreloadTopChromeWebUI",
    "SpareRendererForSitePerProcess",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
)
CHROMIUM_ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    f"--disable-features={','.join(NOT_NEEDED)}",
    "--disable-gpu",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--no-first-run",
    # Names are not even looked up. (Refusing requests one by one would switch the page cache off.)
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOOPBACK}",
]
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
KERNEL_IS_IDLE = """() => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
NOTEBOOK_IS_THERE = "() => !!window.jupyterapp?.shell?.currentWidget?.sessionContext"
NOTEBOOK_IS_READY = """async () => {
  const notebook = window.jupyterapp.shell.currentWidget;
  await notebook.context.ready;
  await notebook.sessionContext.ready;
}"""
OPEN_IN_THIS_PAGE = """async (path) => {
  const app = window.jupyterapp;
  app.shell.activateById((await app.commands.execute('docmanager:open', { path })).id);
}"""
NOTEBOOK_IS_OPEN = "(path) => window.jupyterapp.shell.currentWidget?.context?.path === path"
# Whether the page is as it was before a notebook was opened in it; without a question about what was not saved.
LEAVE = """async () => {
  const app = window.jupyterapp;
  await app.shell.currentWidget.sessionContext.shutdown();
  for (const widget of [...app.shell.widgets('main')]) {
    if (widget.context) widget.context.model.dirty = false;
    widget.dispose();
  }
  return document.querySelector('.jp-Dialog') === null;
}"""
# JupyterLab asks for a subshell for each channel of a widget, and catches nothing if the kernel that was
# asked is stopped, as it is when a notebook is closed. Nothing of kipviz asks for one.
LET_GO = "Canceled future for create_subshell_request message before replies were done"
# From the model, because JupyterLab draws only the cells in sight.
ERRORS = """() => window.jupyterapp.shell.currentWidget.content.model.cells.length === 0 ? [] :
  [...window.jupyterapp.shell.currentWidget.content.model.cells]
    .filter(cell => cell.type === 'code')
    .flatMap(cell => cell.sharedModel.toJSON().outputs)
    .filter(output => output.output_type === 'error')
    .map(output => output.ename + ': ' + output.evalue)"""


def find_chromium() -> str | None:
    """The browser of the tests: KIPVIZ_CHROMIUM, or the machine's Chromium or Chrome."""
    named = os.environ.get("KIPVIZ_CHROMIUM")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return named or next(filter(None, found), None)


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook of code cells that was never run."""
    # Only here: every run of pytest imports this module, and nbformat takes longer than all the rest that it imports.
    import nbformat
    from nbformat import v4

    notebook = v4.new_notebook(
        cells=[v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(cells)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)


class Lab:
    """JupyterLab on a free port of this machine with a browser that can reach nothing else.

    Attributes:
        root: The folder that is served; write notebooks there.
        outside: Addresses beyond this machine that a page asked for.
        mistakes: JavaScript errors that no page caught; not JupyterLab's own of a kernel that is stopped.
    """

    def __init__(self, root: Path, browser: Browser) -> None:
        self.root = root
        self._browser = browser
        self.outside: list[str] = []
        self.mistakes: list[str] = []
        self._private = Path(tempfile.mkdtemp(prefix="kipviz-lab-"))
        self._token = secrets.token_hex(16)
        self._contexts: dict[tuple[int, int, str], BrowserContext] = {}
        self._ready: list[Page] = []

    # --- start and stop --------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._undo = contextlib.ExitStack()
        self._undo.callback(shutil.rmtree, self._private, ignore_errors=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.callback(self._close_contexts)
        self._undo.close()

    @cached_property
    def port(self) -> int:
        """Where the server listens; it is started by whoever asks first, and most pages ask for none."""
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        self._start_server(port, self._undo)
        return port

    def _start_server(self, port: int, undo: contextlib.ExitStack) -> None:
        log = undo.enter_context((self._private / "server.log").open("w+", encoding="utf-8"))
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *self._arguments(port)],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        undo.callback(self._stop_server, process, port)
        deadline = time.monotonic() + PATIENCE
        while not self._answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise RuntimeError(f"JupyterLab did not start:\n{log.read()[-3000:]}")
            time.sleep(0.1)

    def _arguments(self, port: int) -> list[str]:
        root = ["--allow-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        return [
            *root,
            "--no-browser",
            f"--ServerApp.ip={LOOPBACK}",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            "--ServerApp.terminals_enabled=False",
            f"--IdentityProvider.token={self._token}",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
        ]

    def _environment(self) -> dict[str, str]:
        settings = self._private / "settings"
        for plugin, values in SETTINGS.items():
            file = settings / f"{plugin}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values), encoding="utf-8")
        mine = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY_"))}
        return mine | {
            "JUPYTER_CONFIG_DIR": str(self._private / "config"),
            "JUPYTER_DATA_DIR": str(self._private / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._private / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._private / "workspaces"),
            "IPYTHONDIR": str(self._private / "ipython"),
        }

    def _call(self, port: int, path: str, *, method: str = "GET", seconds: float = 2) -> int:
        request = urllib.request.Request(
            f"http://{LOOPBACK}:{port}{path}",
            headers={"Authorization": f"token {self._token}"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status

    def _answers(self, port: int) -> bool:
        try:
            return self._call(port, "/api/status") == 200
        except OSError:
            return False

    def _stop_server(self, process: subprocess.Popen[bytes], port: int) -> None:
        # A server that is asked stops its kernels first; one that is killed leaves them behind.
        with contextlib.suppress(OSError):
            self._call(port, "/api/shutdown", method="POST", seconds=10)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _close_contexts(self) -> None:
        for context in self._contexts.values():
            context.close()

    # --- pages -----------------------------------------------------------------------------------

    def new_page(self, width: int = 1280, height: int = 1000, scheme: str = "light") -> Page:
        """An empty page whose requests and errors are recorded; the caller closes it."""
        key = (width, height, scheme)
        if key not in self._contexts:
            context = self._browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if scheme == "dark" else "light",
                service_workers="block",
            )
            context.set_default_timeout(1000 * PATIENCE)
            context.on("request", self._record)
            self._contexts[key] = context
        page = self._contexts[key].new_page()
        page.on("pageerror", lambda error: self._record_mistake(str(error)))
        return page

    def _record_mistake(self, error: str) -> None:
        if LET_GO not in error:
            self.mistakes.append(error)

    def _record(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.hostname != LOOPBACK:
            self.outside.append(request.url)

    def address(self, name: str, port: int | None = None) -> str:
        """Where a notebook of the served folder is opened, in JupyterLab as it is when it was never used."""
        return f"http://{LOOPBACK}:{port or self.port}/lab/tree/{quote(name)}?reset&token={self._token}"

    def open(
        self,
        name: str,
        *,
        width: int = 1280,
        height: int = 1000,
        scheme: str = "light",
        port: int | None = None,
    ) -> Notebook:
        """Open a notebook of the served folder, through another port if one is given.

        A page whose notebook is closed takes the next one: to load JupyterLab takes longer than most tests.
        The kernel is idle when it is given back.
        """
        if port is None and self._ready:
            page = self._ready.pop()
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.evaluate(OPEN_IN_THIS_PAGE, name)
            page.wait_for_function(NOTEBOOK_IS_OPEN, arg=name, timeout=1000 * PATIENCE)
        else:
            page = self.new_page(width, height, scheme)
            page.goto(self.address(name, port))
        page.wait_for_function(NOTEBOOK_IS_THERE, timeout=1000 * PATIENCE)
        page.evaluate(NOTEBOOK_IS_READY)
        notebook = Notebook(page, self._ready if port is None else None)
        notebook.wait_idle()
        notebook.dress(scheme)
        return notebook


class Notebook:
    """An open notebook; `page` is Playwright's, and goes to `ready` when the notebook is closed."""

    def __init__(self, page: Page, ready: list[Page] | None = None) -> None:
        self.page = page
        self._ready = ready

    def command(self, name: str, **arguments: object) -> None:
        """Have JupyterLab carry out one of its commands and wait for its end."""
        self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }",
            [name, arguments],
        )

    def dress(self, scheme: str) -> None:
        """Show JupyterLab in its "light" or its "dark" theme."""
        self.command("apputils:change-theme", theme=f"JupyterLab {scheme.title()}")
        light = str(scheme != "dark").lower()
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg=light
        )

    def wait_idle(self, seconds: float = PATIENCE) -> None:
        """Wait until the kernel is connected and does nothing."""
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=seconds * 1000)

    def run_all(self, seconds: float = PATIENCE) -> None:
        """Run all cells and wait for the last."""
        self.command("notebook:run-all-cells")
        self.wait_idle(seconds)

    def errors(self) -> list[str]:
        """The errors that cells ended in, "Name: words" each."""
        return self.page.evaluate(ERRORS)

    def close(self) -> None:
        """Stop the kernel and close the notebook; its page too, if it is not as it was before."""
        as_before = False
        with contextlib.suppress(Exception):
            as_before = self.page.evaluate(LEAVE)
        if as_before and self._ready is not None:
            self._ready.append(self.page)
        else:
            self.page.close()
