"""Trace files: a trace on disk, as the actions that were taken.

A file holds actions, not worlds: loading replays them on the model. So a file is small, can be
read by people, and outlives a change of the model; and where the model has moved on, loading says
at which step, and in what the world differs.

The format, one JSON object per line, UTF-8:

    {"format":"kipviz-trace/1","kipviz":version,"model":{...},...}        what the caller gave
    {"parent":null,"action":null,"fingerprint":hex,"parts":{name:hex}}    node 0, the start
    {"parent":0,"action":{"class":kind,...}}                              node 1, and so on
    {"end":nodes,"cursor":node,"tip":node,"digest":hex}                   of all bytes before

Every 20th node and the last one carry the fingerprint of their world, and of each field of it.

A run may have been made again under another model, to see what that changes. Then the file holds
several trees and says "kipviz-trace/2": after the nodes of one tree comes the start of the next

    {"parent":null,"action":null,...,"model":{...}}

Nodes are numbered through the whole file. A file with one tree says "kipviz-trace/1" as ever.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import kipviz
from kipviz.core import outside_file, whole_file
from kipviz.core.model import Model, NotEnabled
from kipviz.core.trace import Observer, Trace
from kipviz.core.values import Value, digest_of, fingerprint

FORMAT = "kipviz-trace/1"
FORMAT_OF_SEVERAL = "kipviz-trace/2"
FINGERPRINT_EVERY = 20

_OWN_NAMES = ("format", "kipviz")
_PART_SIZE = 8


class TraceFileError(Exception):
    """A file cannot be read as a trace, or a trace cannot be written; the message says why."""


class ChangedModel(Value, frozen=True):
    """Where a replay came out differently from what was saved.

    Attributes:
        node: the id of the node in the file.
        step: how many steps lead to it from the start.
        sentence: what differs, in words.
    """

    node: int
    step: int
    sentence: str


class Loaded(msgspec.Struct, frozen=True, eq=False):
    """A trace that was read from a file, and what its header said.

    `changes` is empty when the replay came out as it was saved. `trees` are all traces of the
    file, `trace` the one on which the reader stood: number `at`. `kept` gives for every node of
    the file its tree and its node, or the nearest one above that is still possible. `tip` is the
    end of the line on which the reader stood.
    """

    trace: Trace
    header: dict[str, Any]
    changes: tuple[ChangedModel, ...]
    trees: tuple[Trace, ...]
    at: int
    kept: tuple[tuple[int, int], ...]
    tip: int


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One node in the file."""

    parent: int | None
    action: msgspec.Raw
    fingerprint: str | None = None
    parts: dict[str, str] | None = None
    model: dict[str, Any] | None = None


class _End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last line; without it a file is truncated."""

    end: int
    cursor: int
    tip: int
    digest: str


_encode = msgspec.json.Encoder().encode
_line_decoder = msgspec.json.Decoder(_Line)
_end_decoder = msgspec.json.Decoder(_End)


# --- writing ---------------------------------------------------------------------------------------


class Body(msgspec.Struct, frozen=True):
    """All of a file but its last line, which says where the reader stands.

    `firsts` are the numbers that the trees begin with.
    """

    data: bytes
    firsts: tuple[int, ...]
    nodes: int


def save(trace: Trace, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
    """Write a whole trace, with all its branches, to a file; all of it or nothing.

    The header has to hold `model`, from which `load` opens the model again, and may hold more
    (a seed, a title), as JSON can say it.

    Raises:
        ValueError: if the header has no `model` object or uses a name of the format.
        TraceFileError: if an action cannot be read back as it is, or the file cannot be written.
    """
    write(body_of((trace,), header), path, 0, trace.cursor, trace.last().cursor)


def body_of(
    trees: Sequence[Trace], header: Mapping[str, Any], models: Sequence[Mapping[str, Any]] = ()
) -> Body:
    """Give what a file says of some trees; `models` are those of all trees but the first.

    Raises:
        ValueError: if the header has no `model` object or uses a name of the format.
        TraceFileError: if an action cannot be read back as it is.
    """
    if not isinstance(header.get("model"), Mapping):
        raise ValueError(  # noqa: TRY004  it may be missing altogether
            "the header of a trace file needs 'model', an object that says which one"
        )
    for name in _OWN_NAMES:
        if name in header:
            raise ValueError(f"the header of a trace file gets {name!r} by itself: leave it out")
    said = FORMAT if len(trees) == 1 else FORMAT_OF_SEVERAL
    lines = [_encode({"format": said, "kipviz": kipviz.__version__, **header})]
    firsts: list[int] = []
    for trace, model in zip(trees, (None, *models), strict=True):
        first = len(lines) - 1
        firsts.append(first)
        lines += [_encode(line) for line in _nodes(trace, first, model)]
    return Body(b"\n".join(lines) + b"\n", tuple(firsts), len(lines) - 1)


def write(body: Body, path: str | os.PathLike[str], tree: int, cursor: int, tip: int) -> None:
    """Write a file whose reader stands at a node of a tree, on the line that ends at `tip`.

    Raises:
        TraceFileError: if the file cannot be written.
    """
    first = body.firsts[tree]
    end = _End(body.nodes, first + cursor, first + tip, digest_of(body.data).hex())
    _write(Path(path), body.data + _encode(end) + b"\n")


def _nodes(trace: Trace, first: int, model: Mapping[str, Any] | None) -> Iterator[_Line]:
    decoder = msgspec.json.Decoder(trace.model.action_type)
    last = len(trace) - 1
    for id_ in range(len(trace)):
        node = trace.node(id_)
        action = _encode(node.action)
        if id_ and not _reads_back(decoder, action, node.action):
            raise TraceFileError(
                f"the action {node.action!r} cannot be saved: it is not among the actions of its "
                "model, or holds something that JSON cannot say"
            )
        parent = None if node.parent is None else first + node.parent
        line = _Line(parent, msgspec.Raw(action))
        if id_ % FINGERPRINT_EVERY == 0 or id_ == last:
            mark, parts = fingerprint(node.world).hex(), _parts(node.world)
            own = dict(model) if model is not None and id_ == 0 else None
            line = _Line(parent, line.action, mark, parts, own)
        yield line


def _reads_back(decoder: msgspec.json.Decoder[Any], text: bytes, action: Any) -> bool:
    try:
        return bool(decoder.decode(text) == action)
    except msgspec.DecodeError:
        return False


def _parts(world: Any) -> dict[str, str]:
    """Return a short fingerprint of each field of a world, to say later which one differs."""
    if not isinstance(world, Value):
        return {}
    return {
        name: fingerprint(getattr(world, name)).hex()[:_PART_SIZE]
        for name in world.__struct_fields__
    }


def _write(path: Path, data: bytes) -> None:
    try:
        whole_file.write(path, data)
    except OSError as error:
        raise TraceFileError(f"cannot write {path}: {error.strerror or error}") from error


# --- reading ---------------------------------------------------------------------------------------


def load(
    path: str | os.PathLike[str],
    open_model: Callable[[dict[str, Any]], Model],
    observers: Sequence[Observer] = (),
) -> Loaded:
    """Read a trace file and replay it on the model that `open_model` makes of the header's `model`.

    Where the model has changed, steps that are not possible any more are left out together with
    what came behind them, and `changes` of the answer says so.

    Raises:
        TraceFileError: if the file cannot be read, is no trace file, is of another format, is
            truncated or edited, or holds an action the model does not know.
    """
    path = Path(path)
    try:
        data = outside_file.read(path)
    except OSError as error:
        raise TraceFileError(f"cannot read {path}: {error.strerror or error}") from error
    header = _header(path, data)
    end = _checked_end(path, data)
    replay = _Replay(path, open_model, tuple(observers))
    replay.begin(header["model"])
    for number, text in enumerate(data.split(b"\n")[1:-2], start=2):
        replay.add(number, text)
    if not (0 <= end.cursor < end.end and 0 <= end.tip < end.end and len(replay.ids) == end.end):
        raise TraceFileError(f"{path}: the last line speaks of nodes that the file does not hold")
    kept = tuple(replay.kept(id_) for id_ in range(end.end))
    (at, cursor), (tree, tip) = kept[end.cursor], kept[end.tip]
    if at != tree:
        raise TraceFileError(f"{path}: the last line speaks of two trees at once")
    trace = replay.trees[at].jump(tip).jump(cursor)
    trees = (*replay.trees[:at], trace, *replay.trees[at + 1 :])
    return Loaded(trace, header, tuple(replay.changes), trees, at, kept, tip)


def _header(path: Path, data: bytes) -> dict[str, Any]:
    first = data.split(b"\n", 1)[0]
    try:
        header = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        header = None
    if not isinstance(header, dict) or "format" not in header:
        raise TraceFileError(f"{path} is no trace file: its first line is not a header of one")
    if header["format"] not in (FORMAT, FORMAT_OF_SEVERAL):
        raise TraceFileError(
            f"{path} is in the format {header['format']!r}, but this version of kipviz reads "
            f"{FORMAT!r} and {FORMAT_OF_SEVERAL!r}"
        )
    if not isinstance(header.get("model"), dict):
        raise TraceFileError(f"{path}: the header does not say which model the trace belongs to")
    return header


def _checked_end(path: Path, data: bytes) -> _End:
    """Return the last line, if the file is whole and nobody has edited it."""
    body, _, last = data.removesuffix(b"\n").rpartition(b"\n")
    try:
        if not data.endswith(b"\n"):
            raise msgspec.DecodeError
        end = _end_decoder.decode(last)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise TraceFileError(f"{path} is truncated: its last line is missing") from None
    if digest_of(body + b"\n").hex() != end.digest:
        raise TraceFileError(
            f"{path} was edited or damaged after it was saved: its digest does not fit its lines"
        )
    return end


class _Replay:
    """Builds the trees from the lines of a file, and notes where they come out differently."""

    def __init__(
        self,
        path: Path,
        open_model: Callable[[dict[str, Any]], Model],
        observers: tuple[Observer, ...],
    ) -> None:
        self.path = path
        self.trees: list[Trace] = []
        self.changes: list[ChangedModel] = []
        self.ids: list[int | None] = []  # of each node of the file, its id in its tree
        self._open_model = open_model
        self._observers = observers
        self._first = 0  # the node of the file with which the tree begins that is read now
        self._tree_of: list[int] = []
        self._parents: list[int] = []
        self._same: list[int | None] = []  # the last depth known to be as saved; None: it differs

    def begin(self, model: dict[str, Any]) -> None:
        """Begin a tree of a model; its start is the next line."""
        opened = self._open_model(model)
        self._first = len(self.ids)
        self.trace = Trace.start(opened, self._observers)
        self.trees.append(self.trace)
        self._decoder = msgspec.json.Decoder(opened.action_type)

    def add(self, number: int, text: bytes) -> None:
        """Replay one line of the file."""
        id_ = len(self.ids)
        try:
            line = _line_decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TraceFileError(f"{self.path}, line {number}: {error}") from None
        if line.model is not None:
            self.begin(line.model)
        if id_ == self._first:
            self._same.append(0)
            self._parents.append(id_)
            self.ids.append(0)
        else:
            if line.parent is None or not self._first <= line.parent < id_:
                raise TraceFileError(
                    f"{self.path}, line {number}: a step has to follow an earlier one, "
                    f"not {line.parent}"
                )
            self._parents.append(line.parent)
            self._same.append(self._same[line.parent])
            self.ids.append(self._step(id_, line.parent, self._action(number, line.action)))
        self._tree_of.append(len(self.trees) - 1)
        self.trees[-1] = self.trace
        if line.fingerprint is not None and self.ids[id_] is not None:
            self._compare(id_, line)

    def kept(self, id_: int) -> tuple[int, int]:
        """Return the tree and its node for a node of the file, or for its nearest one above."""
        while (known := self.ids[id_]) is None:
            id_ = self._parents[id_]
        return self._tree_of[id_], known

    def _action(self, number: int, text: msgspec.Raw) -> Any:
        try:
            return self._decoder.decode(text)
        except msgspec.DecodeError as error:
            said = msgspec.json.decode(text)
            kind = said.get("class") if isinstance(said, dict) else said
            raise TraceFileError(
                f"{self.path}, line {number}: this model has no such action as {kind!r} "
                f"({str(error)[:1].lower()}{str(error)[1:]})"
            ) from None

    def _step(self, id_: int, parent: int, action: Any) -> int | None:
        above = self.ids[parent]
        if above is None:
            return None  # behind a step that is gone; that one was reported
        if self.trace.cursor != above:
            self.trace = self.trace.jump(above)
        try:
            self.trace = self.trace.take(action)
        except NotEnabled as error:
            step = self.trace.depth + 1
            self.changes.append(
                ChangedModel(
                    id_,
                    step,
                    f"the model has changed since this trace was saved: step {step}, {action!r}, "
                    f"is not possible any more ({error.why}); it and what followed is left out",
                )
            )
            return None
        return self.trace.cursor

    def _compare(self, id_: int, line: _Line) -> None:
        same = self._same[id_]
        if same is None:
            return  # it differed further up already
        step, world = self.trace.depth, self.trace.world
        if fingerprint(world).hex() == line.fingerprint:
            self._same[id_] = step
            return
        self._same[id_] = None
        where = f"after step {step}" if step else "already at the start"
        before = f"; after step {same} it was still the same" if step else ""
        self.changes.append(
            ChangedModel(
                id_,
                step,
                f"the model has changed since this trace was saved: {where} the world differs"
                f"{_difference(line.parts or {}, _parts(world))}{before}",
            )
        )


def _difference(saved: dict[str, str], now: dict[str, str]) -> str:
    """Say which fields of two worlds differ."""
    changed = [name for name, part in now.items() if saved.get(name, part) != part]
    new = [name for name in now if name not in saved]
    gone = [name for name in saved if name not in now]
    said = [
        f"{words} {', '.join(names)}"
        for words, names in (("in", changed), ("by the new", new), ("by the missing", gone))
        if names
    ]
    return f" {' and '.join(said)}" if said else ""
