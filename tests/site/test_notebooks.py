"""The notebooks of the site: JupyterLite in a real Chromium that can reach this machine only."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from pathlib import Path

import nbformat
import pytest

from kipviz.site import lite
from kipviz.site.runtime import FetchError, fetch_wheels
from kipviz.site.serve import server
from tests.notebooks.canonical import canonical
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
NOTEBOOKS = lite.notebooks(ROOT)
READY = """(path) => { const context = window.jupyterapp?.shell?.currentWidget?.context;
  return context?.isReady && context.path === path; }"""
IDLE = (
    "() => window.jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'"
)
RUN = """() => { window.ran = undefined;
  window.jupyterapp.commands.execute("notebook:run-all-cells").then(() => { window.ran = true; }); }"""
# What a visit leaves behind; what it has loaded stays loaded, and the next notebook is there in a third of the time.
FORGET = """async () => {
  for (const { name } of await indexedDB.databases())
    await new Promise((go) => { const gone = indexedDB.deleteDatabase(name); gone.onsuccess = gone.onerror = gone.onblocked = go; });
  localStorage.clear(); sessionStorage.clear(); }"""
FORMER = {new: old for old, new in json.loads(lite.RENAMED.read_text()).items()}
CHART = "application/vnd.plotly.v1+json"
NOTEBOOK = "() => window.jupyterapp.shell.currentWidget.context.model.toJSON()"


@pytest.fixture(scope="module")
def lab(fetched, tmp_path_factory):
    """The address of JupyterLite as the site has it."""
    into = tmp_path_factory.mktemp("lite") / "lite"
    try:
        wheels = fetch_wheels(lite.LOCK, ROOT / "build" / "wheels")
        lite.build(ROOT, into, fetched, wheels)
    except FetchError as wrong:
        if "SHA-256" in str(wrong) or "left out" in str(wrong):
            raise
        pytest.skip(str(wrong))
    made = server(into, 0)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}/"
    made.shutdown()
    made.server_close()
    thread.join(10)


@pytest.fixture(scope="module")
def visitor(browser):
    """A browser that keeps what it has loaded; no notebook that it opened before is there any more."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


def check_notebook(visitor, lab: str, notebook: Path) -> None:
    """Run a notebook in the page; every output is the stored one, and no other host is asked for anything."""
    asked: list[str] = []
    page = visitor.new_page()
    visitor.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(f"{lab}config-utils.js")
        page.evaluate(FORGET)
        # One that had another name is opened by it.
        page.goto(
            f"{lab}lab/index.html?path=notebooks/{FORMER.get(notebook.stem, notebook.stem)}.ipynb"
        )
        page.wait_for_function(READY, arg=f"notebooks/{notebook.name}", timeout=1000 * PATIENCE)
        page.wait_for_function(IDLE, timeout=1000 * PATIENCE)
        page.evaluate(RUN)
        page.wait_for_function("() => window.ran", timeout=3000 * PATIENCE)
        made = canonical(nbformat.from_dict(page.evaluate(NOTEBOOK)))
    finally:
        page.close()
    stored = nbformat.read(notebook, as_version=4)
    assert len(made.cells) == len(stored.cells)
    for cell, known in zip(made.cells, stored.cells, strict=True):
        if known.cell_type == "code":
            assert not [each for each in cell.outputs if each.output_type == "error"], known.source
            if _is_chart(known):
                assert "Plotly.newPlot" in str(cell.outputs)
            else:
                assert cell.outputs == known.outputs, known.source
    assert [url for url in asked if not url.startswith((lab, "data:", "blob:"))] == []


def _is_chart(cell) -> bool:
    # Without nbformat, which has no wheel for a browser, plotly sends a chart as HTML instead of as its own JSON.
    return any(CHART in output.get("data", {}) for output in cell.outputs)


@pytest.mark.browser
@pytest.mark.slow
def test_the_first_notebook_runs_in_the_browser_with_the_stored_outputs(visitor, lab):
    check_notebook(visitor, lab, ROOT / "notebooks" / "00-start-here.ipynb")


@pytest.mark.browser
@pytest.mark.thorough
@pytest.mark.parametrize(
    "notebook", [n for n, missing in NOTEBOOKS.items() if not missing], ids=lambda n: n.stem
)
def test_every_notebook_runs_in_the_browser_with_the_stored_outputs(visitor, lab, notebook):
    check_notebook(visitor, lab, notebook)


def test_only_notebooks_for_spark_and_sockets_stay_out_of_the_browser():
    out = {file.stem[:2]: missing for file, missing in NOTEBOOKS.items() if missing}
    assert list(out) == ["85", "86", "91"]
    assert [n for n, missing in out.items() if "Spark" in missing] == ["85", "91"]
    assert "sockets" in out["86"]


def test_the_readme_says_how_many_notebooks_run_in_the_browser():
    said = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    there = sum(not missing for missing in NOTEBOOKS.values())
    assert f"and {there} notebooks in JupyterLite" in said


def test_a_former_name_leads_to_the_notebook_before_jupyterlab_reads_the_address():
    page = lite.with_former_names("<html><head><script>boot</script></head></html>")
    assert page.index("searchParams") < page.index("boot")
    for old, new in json.loads(lite.RENAMED.read_text()).items():
        assert f'"{old}": "{new}"' in page
    with pytest.raises(FetchError, match="no head"):
        lite.with_former_names("<html></html>")


def test_the_recordings_are_packed_whole_and_the_same_bytes_each_time(tmp_path):
    folder = ROOT / lite.RECORDINGS
    made = [tmp_path / "one.zip", tmp_path / "there" / "other.zip"]
    for file in made:
        lite.pack(folder, file)
    assert made[0].read_bytes() == made[1].read_bytes()
    archive = zipfile.ZipFile(made[0])
    there = {f.relative_to(folder).as_posix(): f for f in folder.rglob("*") if f.is_file()}
    assert sorted(archive.namelist()) == sorted(there)
    assert all(archive.read(name) == file.read_bytes() for name, file in there.items())


def test_the_page_of_the_notebooks_opens_those_that_run_and_says_what_the_others_need(site):
    page = (site / "notebooks.html").read_text()
    assert page.count("<li ") == len(NOTEBOOKS)
    for file, missing in NOTEBOOKS.items():
        assert (f'href="lite/lab/index.html?path=notebooks/{file.name}"' in page) is (missing == "")
        assert missing in page


def test_the_wheel_of_kipviz_is_the_same_bytes_each_time_and_its_record_is_right(tmp_path):
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        made.append(lite.wheel(tmp_path / name))
    assert made[0].read_bytes() == made[1].read_bytes()
    archive = zipfile.ZipFile(made[0])
    record = archive.read("kipviz-0.1.0.dist-info/RECORD").decode().splitlines()
    assert [line.partition(",")[0] for line in record] == archive.namelist()
    names = archive.namelist()
    assert "kipviz/widgets/static/stepper.js" in names
    assert not [n for n in names if n.startswith(("kipviz/spark", "kipviz/command", "kipviz/site"))]


def test_a_wheel_that_is_not_the_listed_one_is_refused(tmp_path, monkeypatch):
    listed = tmp_path / "lite.json"
    listed.write_text(
        json.dumps([{"package": "comm==0.2.3", "sha256": hashlib.sha256(b"").hexdigest()}])
    )

    def bring(words):
        folder = Path(next(w for w in words if w.startswith("--dest=")).removeprefix("--dest="))
        folder.mkdir()
        (folder / "comm-0.2.3-py3-none-any.whl").write_bytes(b"another one")

    monkeypatch.setattr("kipviz.site.runtime._run", bring)
    with pytest.raises(
        FetchError, match=r"^comm==0\.2\.3 has the SHA-256 .* and lite\.json says e3b0"
    ):
        fetch_wheels(listed, tmp_path / "wheels")
    assert list((tmp_path / "wheels").iterdir()) == []
