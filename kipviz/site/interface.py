"""The page of the public interface, made from the docstrings of the names in `kipviz`.

``python -m kipviz.site.interface`` writes INTERFACE.md; a test fails if it is older than a docstring.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kipviz
from kipviz.views.exports.markdown import plain
from kipviz.widgets.discoverable import own_names
from kipviz.widgets.results.campaign_view import CampaignView

PAGE = "docs/INTERFACE.md"
WIDE = 100
HEAD = """# The public interface

Made by `python -m kipviz.site.interface` from the docstrings. Every example is run by a test. The command line has its own help: `kipviz --help`.

"""
PROMISE = """## What stays from version 1.0

kipviz is at version {version}. Before 1.0 a name can still change; [CHANGELOG.md](../CHANGELOG.md) then says so. From 1.0 until 2.0 the following stays:

- Every name on this page stays, with the names and the order of its parameters and the type that it returns. A new parameter has a default and comes last.
- Bad input raises the exception under "Raises" or a subclass of it, and changes nothing.
- A permalink, a trace file, a story document and a proposed rule of one version 1.x work in every later 1.x. Where the model has changed meanwhile, the run opens as far as it still fits, and a warning says what differs.
- The names of stories, designs, slots and options stay. What is to be removed warns for one minor version first.
- The subcommands of `kipviz`, their options, their exit statuses and the keys of `--json` stay. New keys can be added.

The following can change in every version:

- The words and the layout of texts, pages and pictures.
- Numbers of states and steps, fingerprints, and a verdict, where the model follows Kafka more closely than before. [CHANGELOG.md](../CHANGELOG.md) names each of them.
- Every module, class and function that is not on this page, such as those below `kipviz.brokers` and `kipviz.widgets`. A rule, a program or a test of your own can use them, and is adapted to each version.

"""
# The parts of a docstring that are lists of names with their descriptions.
LISTS = ("Args", "Attributes", "Raises")
PARTS = (*LISTS, "Example", "Returns")


def page() -> str:
    """Return the page as Markdown: the promise, every public name, and the methods of the classes that they return."""
    names = [name for name in kipviz.__all__ if not name.startswith("__")]
    parts = [HEAD, PROMISE.format(version=kipviz.__version__), "## Functions and classes\n\n"]
    parts += [part for name in names for part in _entry(f"kipviz.{name}", getattr(kipviz, name))]
    parts.append("## What they return\n\nEach method is shown with its first sentence.\n\n")
    for cls in returned_classes(names):
        parts += [f"### {cls.__name__}\n\n", *_render_docstring(cls), *_methods(cls)]
    return "".join(parts).rstrip() + "\n"


def returned_classes(names: list[str]) -> tuple[type, ...]:
    """Return the kipviz classes that the functions of these names return, ordered by name."""
    found = {
        cls
        for name in names
        if inspect.isfunction(made := getattr(kipviz, name))
        for cls in _classes(made)
    }
    return tuple(sorted(found, key=lambda cls: cls.__name__))


def _classes(function: Callable[..., object]) -> Iterator[type]:
    """Yield the kipviz classes that a function returns, according to its annotation."""
    known = {**function.__globals__, "CampaignView": CampaignView}
    for name in re.findall(r"\w+", function.__annotations__["return"]):
        cls = known.get(name)
        if inspect.isclass(cls) and cls.__module__.startswith("kipviz."):
            yield cls


def _entry(name: str, made: Any) -> Iterator[str]:
    yield f"### {name}\n\n```python\n{signature(name, made)}\n```\n\n"
    yield from _render_docstring(made)
    if inspect.isclass(made):
        yield from _methods(made)


def _methods(cls: type) -> Iterator[str]:
    lines = []
    for name in own_names(cls):
        made = inspect.getattr_static(cls, name)
        made = made.__func__ if isinstance(made, classmethod | staticmethod) else made
        if inspect.isfunction(made):
            lines.append(f"- `{signature(name, made, '')}`: {_first(made)}")
        elif isinstance(made, property) or hasattr(made, "func"):
            lines.append(f"- `{name}`: {_first(made)}")
    if lines:
        yield "\n".join(lines) + "\n\n"


def _first(made: object) -> str:
    """Return the first paragraph of a docstring, on one line."""
    doc = inspect.getdoc(made) or ""
    return _inline(" ".join(doc.partition("\n\n")[0].split()))


def signature(name: str, made: Callable[..., object], returns: str = " -> ") -> str:
    """Return the signature of a callable as in its source; on several lines if it is long.

    Args:
        name: the name to show.
        made: a function, a method or a class.
        returns: the text before the returned type; "" leaves the type out.
    """
    found = inspect.signature(made)
    parts, keywords = [], False
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            keywords = True
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        parts.append(_parameter(parameter))
    end = "" if found.return_annotation in ("None", None, inspect.Signature.empty) else returns
    end += _type(found.return_annotation) if end else ""
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= WIDE or not returns:
        return line
    return "\n".join((f"{name}(", *(f"    {part}," for part in parts), f"){end}"))


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else stars
    typed = parameter.annotation is not parameter.empty
    text = f"{stars}{parameter.name}" + (f": {_type(parameter.annotation)}" if typed else "")
    if parameter.default is parameter.empty:
        return text
    default = _default(parameter.default)
    return f"{text} = {default}" if typed else f"{text}={default}"


def _default(value: object) -> str:
    if not value and hasattr(value, "keys"):
        return "{}"
    # A function is shown by its name: its repr has an address, which differs from run to run.
    return value.__name__ if inspect.isfunction(value) else repr(value)


def _type(annotation: object) -> str:
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


# --- docstrings ----------------------------------------------------------------------------------


def _render_docstring(made: object) -> Iterator[str]:
    """Yield a docstring as Markdown: its text, then lists, then the example as code."""
    lines = (inspect.getdoc(made) or "").splitlines()
    part, held = "", list[str]()
    for line in (*lines, "End:"):
        begins = line.removesuffix(":") if line.endswith(":") else ""
        if begins in (*PARTS, "End") or (part and line and not line.startswith(" ")):
            yield from _part(part, inspect.cleandoc("\n" + "\n".join(held)))
            part, held = (begins, []) if begins in (*PARTS, "End") else ("", [line])
        else:
            held.append(line)


def _part(part: str, text: str) -> Iterator[str]:
    if not text.strip():
        return
    if part == "Example":
        fence = "````" if "```" in text else "```"
        yield f"{fence}python\n{text.strip()}\n{fence}\n\n"
    elif part in LISTS:
        entries = re.split(r"\n(?=\S)", text.strip())
        yield f"**{part}**\n\n" + "\n".join(map(_render_entry, entries)) + "\n\n"
    else:
        yield from ("**Returns**\n\n",) if part else ()
        for block in re.split(r"\n\s*\n", text.strip()):
            code = all(line.startswith("    ") for line in block.splitlines())
            made = inspect.cleandoc("\n" + block) if code else block
            yield (
                f"```python\n{made}\n```\n\n" if code else _inline(" ".join(made.split())) + "\n\n"
            )


def _render_entry(entry: str) -> str:
    name, _, rest = " ".join(entry.split()).partition(": ")
    return f"- `{name}`: {_inline(rest)}" if rest else f"- {_inline(name)}"


def _inline(text: str) -> str:
    """Escape Markdown's special characters outside code."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(
        f"`{part.strip('`')}`" if n % 2 else re.sub(r"\S.*\S|\S", _escape_words, part)
        for n, part in enumerate(parts)
    )


def _escape_words(words: re.Match[str]) -> str:
    return plain(words[0])


def main(argv: list[str]) -> int:
    """Write the page into a folder, by default the current one."""
    place = Path(argv[0] if argv else ".") / PAGE
    place.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
