"""Run notebooks again and store their outputs in one canonical form.

    python tests/notebooks/canonical.py notebooks/00-start-here.ipynb ...

Two runs give the same bytes: no times, no widget state, no addresses, ids and models numbered in
order. So a change in a stored output is a change in what the reader sees. A picture (PNG, JPEG) is
dropped, because it differs between machines; the cell tag `keep-image` keeps it.

Exit status: 0 when all is stored, 1 when a notebook could not be run, with one sentence each.
"""

import asyncio
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tests.patience import PATIENCE

CELL_SECONDS = 120
NOTEBOOK_SECONDS = 600
UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
IMAGES = ("image/png", "image/jpeg")
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotRun(Exception):
    """A notebook could not be run to its end; the message says where and why."""


def run(path: Path) -> NotebookNode:
    """Execute a notebook in a fresh kernel, in its own folder, and give it back in canonical form."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        startup_timeout=PATIENCE,
        # By itself it waits 4 s for a cell's last output, and stores the notebook without it.
        iopub_timeout=int(PATIENCE),
        raise_on_iopub_timeout=True,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
        # A person's history stays out of it; the kernel's own log tells nothing that is not told here.
        extra_arguments=["--HistoryManager.enabled=False", "--IPKernelApp.log_level=ERROR"],
    )
    try:
        asyncio.run(asyncio.wait_for(client.async_execute(), NOTEBOOK_SECONDS))
    except CellExecutionError as error:
        raise NotRun(f"{path.name}: a cell failed with {error.ename}: {error.evalue}") from error
    except CellTimeoutError as error:
        raise NotRun(f"{path.name}: a cell took more than {CELL_SECONDS} seconds") from error
    except TimeoutError as error:
        raise NotRun(f"{path.name}: the run took more than {NOTEBOOK_SECONDS} seconds") from error
    except DeadKernelError as error:
        raise NotRun(f"{path.name}: the kernel died") from error
    return canonical(notebook)


def canonical(notebook: NotebookNode) -> NotebookNode:
    """Bring a notebook that was run into canonical form; a canonical one stays as it is."""
    models: dict[str, str] = {}
    used: set[str] = set()
    notebook = nbformat.from_dict(notebook)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells, start=1):
        if not cell.get("id") or cell.id in used:
            cell.id = f"cell-{number:02d}"
        used.add(cell.id)
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type == "code":
            kept = () if "keep-image" in (tags or ()) else IMAGES
            cell.outputs = [
                _output(each, kept, models) for each in _join_streams(_drop_progress(cell.outputs))
            ]
    return notebook


def text(notebook: NotebookNode) -> str:
    """The bytes of the file, as text."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def _drop_progress(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Leave out the line of a long call's progress: whether there is one depends on the clock."""
    return [each for each in outputs if each.get("metadata", {}).get("kipviz") != "progress"]


def _join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of one stream: where the kernel cut it depends on the clock."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        kind = (output.output_type, output.get("name"))
        if last is not None and kind == (last.output_type, last.get("name")) and "text" in last:
            last.text += output.text
        else:
            joined.append(nbformat.from_dict(output))
    return joined


def _output(output: NotebookNode, dropped: tuple[str, ...], models: dict[str, str]) -> NotebookNode:
    if "data" in output:
        for mimetype in dropped:
            output.data.pop(mimetype, None)
        view = output.data.get(WIDGET)
        if view is not None:
            view["model_id"] = models.setdefault(view["model_id"], f"{len(models) + 1:032x}")
        output.data = nbformat.from_dict(_scrub_value(output.data))
        output.metadata = nbformat.from_dict({})
    elif "text" in output:
        output.text = _scrub_value(output.text)
    return output


def _scrub_value(value: object) -> object:
    if isinstance(value, str):
        return ADDRESS.sub("0xADDR", UUID.sub("UUID", value))
    if isinstance(value, list):
        return [_scrub_value(each) for each in value]
    if isinstance(value, dict):
        return {key: _scrub_value(each) for key, each in value.items()}
    return value


def _write(path: Path, content: str) -> bool:
    """Write the file in one piece; False when it says the same already."""
    if path.read_text(encoding="utf-8") == content:
        return False
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(content, encoding="utf-8")
    aside.replace(path)
    return True


def main(names: list[str]) -> int:
    """Run and store the notebooks, in the order of their names."""
    if not names:
        print("kipviz: there are no notebooks yet.")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="kipviz-ipython-") as private:
        os.environ["IPYTHONDIR"] = private
        for path in sorted(map(Path, names), key=lambda path: path.name):
            begin = time.monotonic()
            try:
                changed = _write(path, text(run(path)))
            except (NotRun, OSError, nbformat.reader.NotJSONError) as error:
                print(f"kipviz: {error}", file=sys.stderr)
                failed = 1
                continue
            state = "stored" if changed else "unchanged"
            print(f"{path.name}: {state}, {time.monotonic() - begin:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
