"""Send kipviz itself to workers that do not see this machine's folders."""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.spark.sessions.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_FOR_WORKERS = ("widgets", "command", "node_modules", "__pycache__")
_shipped: weakref.WeakSet[Any] = weakref.WeakSet()


def ship(spark: SparkSession) -> None:
    """Send the package once per session, unless its workers are processes of this machine.

    msgspec, pyarrow and pandas are not sent: they are compiled, and belong to the cluster.
    """
    if is_local(spark) or spark in _shipped:
        return
    folder = Path(tempfile.mkdtemp(prefix="kipviz-ship-"))
    weakref.finalize(spark, shutil.rmtree, folder, ignore_errors=True)  # executors fetch it late
    spark.addArtifacts(str(package_zip(folder)), pyfile=True)
    _shipped.add(spark)


def package_zip(folder: Path) -> Path:
    """The package's Python files, stories and tables as a zip that Python can import from."""
    root = Path(__file__).resolve().parents[2]
    target = folder / "kipviz.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*")):
            inside = file.relative_to(root)
            wanted = file.suffix in {".py", ".md", ".json", ".toml", ".csv"}
            if wanted and not set(inside.parts) & set(_NOT_FOR_WORKERS):
                archive.write(file, Path("kipviz") / inside)
    return target
