"""Optional parts of the package, and the error for a part that is not installed.

The model, its search and the command line need msgspec alone. A notebook, Spark, the logs of a broker and a client's
regular expression need more packages, which are installed by name: `pip install 'kipviz[notebook]'`.
"""

from __future__ import annotations

from collections.abc import Mapping

# The packages of each part, by the names that programs import.
PARTS: Mapping[str, tuple[str, ...]] = {
    "notebook": (
        "IPython",
        "anywidget",
        "comm",
        "ipykernel",
        "ipywidgets",
        "jupyterlab",
        "plotly",
        "traitlets",
    ),
    "spark": ("numpy", "pandas", "py4j", "pyarrow", "pyspark"),
    "regex": ("re2",),
}
# Packages whose name in the registry differs from the module's.
ON_THE_REGISTRY: Mapping[str, str] = {"re2": "google-re2"}


class MissingPart(ImportError):
    """A part of kipviz is not installed; the message says which one, and how to install it."""


def missing_part(wish: str, error: ImportError) -> MissingPart | None:
    """Return the error for a feature whose package is not installed; None if the package belongs to no part.

    Args:
        wish: the requested feature, such as `kipviz.open`; the sentence starts with it.
        error: the import's error; its `name` is the module that was not found.
    """
    package = (error.name or "").partition(".")[0]
    for part, packages in PARTS.items():
        if package in packages:
            sentence = (
                f"{wish} needs the package {ON_THE_REGISTRY.get(package, package)}, which is not installed; "
                f"install it with: pip install 'kipviz[{part}]'"
            )
            return MissingPart(sentence, name=error.name)
    return None
