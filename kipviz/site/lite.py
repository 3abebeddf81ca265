"""JupyterLite on the site: every notebook that needs neither Spark nor a socket, run by Python in the browser.

`lite.json` has the wheels with their hashes. jupyterlite-core (`kipviz[site]`) does the build itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kipviz
from kipviz.site import runtime

LOCK = Path(__file__).with_name("lite.json")
# Former names of notebooks, each with its present one, so that an old address still opens.
RENAMED = Path(__file__).with_name("renamed.json")
# Tools for building the site, and the pages of the site themselves, are no part of a notebook.
LEFT_OUT = ("command", "serving", "site", "spark")
KERNEL = "jupyterlite_pyodide_kernel"
# The wheels that contain a part of JupyterLab's page.
EXTENSIONS = ("anywidget-", "jupyterlab_widgets-", f"{KERNEL}-")
# JavaScript for other kinds of pages; plotly includes plotly.min.js in a chart itself.
PAGE_PARTS = ("plotly/package_data/widgetbundle.js", "plotly/labextension/", ".data/data/")
# What a browser lacks, by the text of a cell that needs it.
MISSING = {
    r"kipviz\.spark": "not in the browser: it needs Spark",
    r"kipviz\.serve\(": "not in the browser: it needs sockets, which a page has not",
}
# What notebooks read besides themselves. JupyterLite parses every file whose ending starts with "json" as one JSON
# value, so a recording's lines would not reach the notebook: the folder is packed as a zip file (`folder_at`).
RECORDINGS = "tests/recordings/kafka-4.4.0"


def notebooks(root: Path) -> dict[Path, str]:
    """Return all notebooks ordered by name, each with the reason why it cannot run in a browser, or ""."""
    return {file: _missing(file) for file in sorted((root / "notebooks").glob("*.ipynb"))}


def _missing(notebook: Path) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return next((reason for words, reason in MISSING.items() if re.search(words, code)), "")


def build(root: Path, into: Path, pyodide: Path, wheels: Path) -> int:
    """Write JupyterLite with the notebooks into a folder; return how many notebooks it has.

    Args:
        root: the folder of the project.
        into: the folder, which is created again.
        pyodide: Pyodide's files, as `runtime.fetch` returns them.
        wheels: the wheels of `lite.json`, as `runtime.fetch_wheels` returns them.

    Raises:
        runtime.FetchError: if jupyterlite-core is not installed or its build fails, in one sentence.
    """
    shutil.rmtree(into, ignore_errors=True)
    chosen = [file for file, missing in notebooks(root).items() if not missing]
    with tempfile.TemporaryDirectory() as folder:
        home, contents = Path(folder, "home"), Path(folder, "contents")
        lay_out_kernel(home / "static" / "pyodide", pyodide, wheels)
        settings = json.dumps(_settings(home / "static" / "pyodide"))
        (home / "jupyter-lite.json").write_text(settings, encoding="utf-8")
        (contents / "notebooks").mkdir(parents=True)
        for notebook in chosen:
            shutil.copyfile(notebook, contents / "notebooks" / notebook.name)
        for page in sorted((root / "notebooks").glob("*.md")):
            shutil.copyfile(page, contents / "notebooks" / page.name)
        pack(root / RECORDINGS, contents / f"{RECORDINGS}.zip")
        extensions = [w for w in sorted(wheels.iterdir()) if w.name.startswith(EXTENSIONS)]
        words = ["--lite-dir", home, "--contents", contents, "--output-dir", into]
        words += ["--ignore-sys-prefix", "--no-sourcemaps", "--apps=lab"]
        words += [f"--LiteBuildConfig.federated_extensions={each}" for each in extensions]
        _build(home, words)
        # jupyterlite-core leaves this folder to the kernel's own build step, which is not installed.
        shutil.copytree(home / "static", into / "static", dirs_exist_ok=True)
    lab = into / "lab" / "index.html"
    lab.write_text(with_former_names(lab.read_text(encoding="utf-8")), encoding="utf-8")
    missing = [n.name for n in chosen if not (into / "files" / "notebooks" / n.name).is_file()]
    if not (into / "files" / f"{RECORDINGS}.zip").is_file():
        missing.append(f"{RECORDINGS}.zip")
    if missing:
        raise runtime.FetchError(f"JupyterLite left out {', '.join(missing)}")
    return len(chosen)


def with_former_names(page: str) -> str:
    """Return JupyterLab's page with a first script that redirects a former name to the present notebook."""
    head = "<head>"
    if head not in page:
        raise runtime.FetchError("JupyterLite's page has no head to put a script into")
    names = json.dumps(json.loads(RENAMED.read_text(encoding="utf-8")))
    return page.replace(head, f"{head}<script>{_FORMER_NAMES % names}</script>", 1)


_FORMER_NAMES = """{
  const names = %s, url = new URL(location.href), path = url.searchParams.get("path") ?? "";
  const name = path.replace(/^notebooks\\//, "").replace(/\\.ipynb$/, "");
  if (path === `notebooks/${name}.ipynb` && Object.hasOwn(names, name)) {
    url.searchParams.set("path", `notebooks/${names[name]}.ipynb`);
    history.replaceState(null, "", url);
  }
}"""


def pack(folder: Path, into: Path) -> None:
    """Write the files of a folder as a zip file, the same bytes on every machine."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), runtime.EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())


def _build(home: Path, words: list[Any]) -> None:
    command = [sys.executable, "-m", "jupyterlite_core", "build", *map(str, words)]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise runtime.FetchError(f"JupyterLite could not be built: {last}")


def _settings(pyodide: Path) -> dict[str, Any]:
    packages = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": sorted(packages)},
    }
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "kipviz",
            "exposeAppInBrowser": True,
            "litePluginSettings": {"@jupyterlite/pyodide-kernel-extension:kernel": kernel},
        },
    }


def lay_out_kernel(into: Path, pyodide: Path, wheels: Path) -> None:
    """Write Pyodide with every wheel that the kernel needs, and the list that names them."""
    into.mkdir(parents=True)
    for file in sorted(pyodide.iterdir()):
        shutil.copyfile(file, into / file.name)
    for file in sorted(wheels.iterdir()):
        if not file.name.startswith(("jupyterlab_widgets-", f"{KERNEL}-")):
            _copy_without_page_parts(file, into / file.name)
        elif file.name.startswith(KERNEL):
            _kernel_wheels(file, into)
    wheel(into)
    lock = json.loads((into / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = {entry["name"]: entry for entry in map(_entry, sorted(into.glob("*.whl")))}
    text = json.dumps({**lock, "packages": packages})
    (into / "pyodide-lock.json").write_text(text, encoding="utf-8")


def _copy_without_page_parts(file: Path, into: Path) -> None:
    with (
        zipfile.ZipFile(file) as archive,
        zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for info in archive.infolist():
            if not any(part in info.filename for part in PAGE_PARTS):
                made.writestr(info, archive.read(info))


def _kernel_wheels(extension: Path, into: Path) -> None:
    """Extract the kernel's own wheels from the wheel that contains them."""
    with zipfile.ZipFile(extension) as archive:
        for name in archive.namelist():
            file = name.rpartition("/")[2]
            if file.endswith(".whl") and not file.startswith("widgetsnbextension"):
                (into / file).write_bytes(archive.read(name))


# The dependencies of each in a browser; the wheels' own lists also name terminals and sockets.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "anywidget": ("ipywidgets", "psygnal", "typing-extensions"),
    "ipykernel": ("pyodide-kernel",),
    "ipython": (
        "decorator",
        "ipython-pygments-lexers",
        "jedi",
        "matplotlib-inline",
        "prompt-toolkit",
        "pygments",
        "stack-data",
        "traitlets",
        "typing-extensions",
    ),
    "ipython-pygments-lexers": ("pygments",),
    "ipywidgets": ("comm", "ipython", "traitlets"),
    "jedi": ("parso",),
    "kipviz": ("anywidget", "ipywidgets", "msgspec"),
    "matplotlib-inline": ("traitlets",),
    "micropip": ("packaging",),
    "piplite": ("micropip",),
    "plotly": ("narwhals", "packaging"),
    "prompt-toolkit": ("wcwidth",),
    "pyodide-kernel": ("comm", "ipython"),
    "stack-data": ("asttokens", "executing", "pure-eval"),
}


def _entry(file: Path) -> dict[str, Any]:
    """Return the entry of a wheel in Pyodide's list of packages."""
    name, version = file.name.split("-")[:2]
    name = re.sub(r"[-_.]+", "-", name).lower()
    with zipfile.ZipFile(file) as archive:
        tops = {
            path.partition("/")[0].removesuffix(".py")
            for path in archive.namelist()
            if path.endswith((".py", ".so")) and ".data/" not in path and ".dist-info/" not in path
        }
    return {
        "name": name,
        "version": version,
        "file_name": file.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(top for top in tops if top.isidentifier()),
        "depends": list(NEEDS.get(name, ())),
        "unvendored_tests": False,
        "shared_library": False,
    }


def wheel(into: Path) -> Path:
    """Write kipviz as a wheel with everything that a notebook needs, the same bytes on every machine."""
    name = f"kipviz-{kipviz.__version__}"
    about = f"{name}.dist-info"
    texts = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: kipviz\nVersion: {kipviz.__version__}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: kipviz.site\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    file = into / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        record = []
        for path, data in (*_sources(), *((path, text.encode()) for path, text in texts.items())):
            entry = zipfile.ZipInfo(path, runtime.EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
        entry = zipfile.ZipInfo(f"{about}/RECORD", runtime.EPOCH)
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, "".join(record) + f"{about}/RECORD,,\n")
    return file


def _sources() -> Iterator[tuple[str, bytes]]:
    for file in runtime.sources(LEFT_OUT):
        yield file.relative_to(runtime.PACKAGE.parent).as_posix(), file.read_bytes()
