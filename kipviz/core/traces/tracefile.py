"""Trace files: a trace on disk, as the actions that were taken.

A file holds actions, not worlds: loading replays them on the model. So a file is small, can be read by people, and
outlives a change of the model; and if the model has changed, loading reports the step, and the difference of the
worlds.

The format, one JSON object per line, UTF-8:

    {"format":"kipviz-trace/1","kipviz":version,"model":{...},...}        the caller's header
    {"parent":null,"action":null,"fingerprint":hex,"parts":{name:hex}}    node 0, the start
    {"parent":0,"action":{"class":kind,...}}                              node 1, and so on
    {"end":nodes,"cursor":node,"tip":node,"digest":hex,                   of all bytes before
     "checks":hex,"seal":hex}                                             of each line, and of this one

Every 20th node and the last one carry the fingerprint of their world, and of each field of it.

A run may have been replayed under another model, to compare them. Then the file holds several trees and has the format
"kipviz-trace/2": after the nodes of one tree comes the start of the next

    {"parent":null,"action":null,...,"model":{...}}

Nodes are numbered through the whole file. A file with one tree still has the format "kipviz-trace/1".
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import kipviz
from kipviz.core.model import Model, NotEnabled
from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.core.traces import trace_repair
from kipviz.core.traces.trace import Observer, Trace
from kipviz.core.values import Value, digest_of, fingerprint
from kipviz.core.written import ActionReader, action_to_json

FORMAT = "kipviz-trace/1"
FORMAT_OF_SEVERAL = "kipviz-trace/2"
FINGERPRINT_EVERY = 20

_OWN_NAMES = ("format", "kipviz")
_PART_SIZE = 8


class TraceFileError(Exception):
    """A file cannot be read as a trace, or a trace cannot be written; the message says why."""


class ChangedModel(Value, frozen=True):
    """A difference between a replay and the saved run.

    Attributes:
        node: the id of the node in the file.
        step: its number of steps from the start.
        sentence: the difference, in words.
    """

    node: int
    step: int
    sentence: str


class Loaded(msgspec.Struct, frozen=True, eq=False):
    """A trace that was read from a file, and the file's header.

    `changes` is empty if the replay equals the saved run. `trees` are all traces of the file, `trace` the one with the
    cursor: number `at`. `kept` has for every node of the file its tree and its node, or the nearest one above that is
    still possible. `tip` is the end of the cursor's line. `lost` are the lines of a damaged file that could not be
    repaired, by their nodes, and `damaged` says whether the file was damaged at all.
    """

    trace: Trace
    header: dict[str, Any]
    changes: tuple[ChangedModel, ...]
    trees: tuple[Trace, ...]
    at: int
    kept: tuple[tuple[int, int], ...]
    tip: int
    lost: tuple[int, ...] = ()
    damaged: bool = False


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One node in the file."""

    parent: int | None
    action: msgspec.Raw
    fingerprint: str | None = None
    parts: dict[str, str] | None = None
    model: dict[str, Any] | None = None


class _End(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The last line; without it a file is truncated. Files of older versions have no checks and no seal."""

    end: int
    cursor: int
    tip: int
    digest: str
    checks: str = ""
    seal: str = ""

    def with_seal(self) -> "_End":
        """Return the line with a check of all its fields."""
        said = _encode(msgspec.structs.replace(self, seal=""))
        return msgspec.structs.replace(self, seal=trace_repair.check_of(said))


_encode = msgspec.json.Encoder().encode
_line_decoder = msgspec.json.Decoder(_Line)
_end_decoder = msgspec.json.Decoder(_End)


# --- writing ---------------------------------------------------------------------------------------


class Body(msgspec.Struct, frozen=True):
    """The whole file except its last line, which has the cursor.

    `firsts` are the numbers of the trees' first nodes.
    """

    data: bytes
    firsts: tuple[int, ...]
    nodes: int
    checks: str


def save(trace: Trace, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
    """Write a whole trace, with all its branches, to a file; all of it or nothing.

    The header has to contain `model`, from which `load` opens the model again, and may contain more JSON (a seed, a
    title).

    Raises:
        ValueError: if the header has no `model` object or uses a name of the format.
        TraceFileError: if an action cannot be read back unchanged, or the file cannot be written.
    """
    write(body_of((trace,), header), path, 0, trace.cursor, trace.last().cursor)


def body_of(
    trees: Sequence[Trace], header: Mapping[str, Any], models: Sequence[Mapping[str, Any]] = ()
) -> Body:
    """Return the content of a file for some trees; `models` are those of all trees but the first.

    Raises:
        ValueError: if the header has no `model` object or uses a name of the format.
        TraceFileError: if an action cannot be read back unchanged.
    """
    if not isinstance(header.get("model"), Mapping):
        raise ValueError(  # noqa: TRY004  it may be missing altogether
            "the header of a trace file needs 'model', an object that says which one"
        )
    for name in _OWN_NAMES:
        if name in header:
            raise ValueError(
                f"the header of a trace file gets {name!r} automatically: leave it out"
            )
    said = FORMAT if len(trees) == 1 else FORMAT_OF_SEVERAL
    lines = [_encode({"format": said, "kipviz": kipviz.__version__, **header})]
    firsts: list[int] = []
    for trace, model in zip(trees, (None, *models), strict=True):
        first = len(lines) - 1
        firsts.append(first)
        lines += [_encode(line) for line in _nodes(trace, first, model)]
    data = b"\n".join(lines) + b"\n"
    return Body(data, tuple(firsts), len(lines) - 1, trace_repair.checks_of(data))


def write(
    body: Body,
    path: str | os.PathLike[str],
    tree: int,
    cursor: int,
    tip: int,
    before: str | os.PathLike[str] | None = None,
) -> None:
    """Write a file with the cursor at a node of a tree, on the line that ends at `tip`.

    If `before` names a place, the old file is kept there.

    Raises:
        TraceFileError: if the file cannot be written.
    """
    first = body.firsts[tree]
    digest = digest_of(body.data).hex()
    end = _End(body.nodes, first + cursor, first + tip, digest, body.checks).with_seal()
    _write(Path(path), body.data + _encode(end) + b"\n", before)


def _nodes(trace: Trace, first: int, model: Mapping[str, Any] | None) -> Iterator[_Line]:
    reader = ActionReader(trace.model.action_type)
    last = len(trace) - 1
    for id_ in range(len(trace)):
        node = trace.node(id_)
        action = _encode(None) if node.action is None else action_to_json(node.action)
        if id_ and not _reads_back(reader, action, node.action):
            raise TraceFileError(
                f"the action {node.action!r} cannot be saved: it is not among the actions of its "
                "model, or contains something that JSON cannot represent"
            )
        parent = None if node.parent is None else first + node.parent
        line = _Line(parent, msgspec.Raw(action))
        if id_ % FINGERPRINT_EVERY == 0 or id_ == last:
            mark, parts = fingerprint(node.world).hex(), _parts(node.world)
            own = dict(model) if model is not None and id_ == 0 else None
            line = _Line(parent, line.action, mark, parts, own)
        yield line


def _reads_back(reader: ActionReader, text: bytes, action: Any) -> bool:
    try:
        return bool(reader.read(text) == action)
    except msgspec.DecodeError:
        return False


def _parts(world: Any) -> dict[str, str]:
    """Return a short fingerprint of each field of a world, to report later which one differs."""
    if not isinstance(world, Value):
        return {}
    return {
        name: fingerprint(getattr(world, name)).hex()[:_PART_SIZE]
        for name in world.__struct_fields__
    }


def _write(path: Path, data: bytes, before: str | os.PathLike[str] | None) -> None:
    try:
        atomic_write.write(path, data, before)
    except OSError as error:
        raise TraceFileError(f"cannot write {path}: {error.strerror or error}") from error


# --- reading ---------------------------------------------------------------------------------------


def load(
    path: str | os.PathLike[str],
    open_model: Callable[[dict[str, Any]], Model],
    observers: Callable[[Model], Sequence[Observer]] = lambda _: (),
    *,
    recover: bool = False,
) -> Loaded:
    """Read a trace file and replay it on the model that `open_model` makes of the header's `model`.

    `observers` returns what watches the runs of that model.

    If the model has changed, steps that are no longer possible are left out together with the steps after them, and
    `changes` reports it. With `recover` a damaged file is read as far as its lines are whole or can be repaired; lost
    lines are left out in the same way, and `lost` reports them.

    Raises:
        TraceFileError: if the file cannot be read, is not a trace file, has another format, is
            truncated or edited, or contains an action that the model does not know.
    """
    path = Path(path)
    try:
        data = untrusted_file.read(path)
    except OSError as error:
        raise TraceFileError(f"cannot read {path}: {error.strerror or error}") from error
    found = _recover_lines(data) if recover else None
    if found is None:
        header = _header(path, data)
        end = _checked_end(path, data)
        lines: list[bytes | None] = [*data.split(b"\n")[1:-2]]
    else:
        (first, *lines), end = found
        header = _header(path, first or b"")
    replay = _Replay(path, open_model, observers)
    replay.begin(header["model"])
    for number, text in enumerate(lines, start=2):
        replay.add(number, text)
    if not (0 <= end.cursor < end.end and 0 <= end.tip < end.end and len(replay.ids) == end.end):
        raise TraceFileError(f"{path}: the last line names nodes that are not in the file")
    kept = tuple(replay.find_kept(id_) for id_ in range(end.end))
    (at, cursor), (tree, tip) = kept[end.cursor], kept[end.tip]
    if at != tree:
        raise TraceFileError(f"{path}: the last line belongs to two trees")
    trace = replay.trees[at].jump(tip).jump(cursor)
    trees = (*replay.trees[:at], trace, *replay.trees[at + 1 :])
    lost = tuple(number for number, text in enumerate(lines) if text is None)
    changes = tuple(replay.changes)
    return Loaded(trace, header, changes, trees, at, kept, tip, lost, found is not None)


def is_whole(data: bytes) -> bool:
    """Return whether the bytes of a file are those that were saved, whatever its lines contain."""
    try:
        _checked_end(Path(), data)
    except TraceFileError:
        return False
    return True


def _header(path: Path, data: bytes) -> dict[str, Any]:
    first = data.split(b"\n", 1)[0]
    try:
        header = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        header = None
    if not isinstance(header, dict) or "format" not in header:
        raise TraceFileError(f"{path} is not a trace file: its first line is not the header of one")
    if header["format"] not in (FORMAT, FORMAT_OF_SEVERAL):
        raise TraceFileError(
            f"{path} is in the format {header['format']!r}, but this version of kipviz reads "
            f"{FORMAT!r} and {FORMAT_OF_SEVERAL!r}"
        )
    if not isinstance(header.get("model"), dict):
        raise TraceFileError(f"{path}: the header does not name the model of the trace")
    return header


def _checked_end(path: Path, data: bytes) -> _End:
    """Return the last line, if the file is whole and was not edited."""
    body, _, last = data.removesuffix(b"\n").rpartition(b"\n")
    try:
        if not data.endswith(b"\n"):
            raise msgspec.DecodeError
        end = _end_decoder.decode(last)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise TraceFileError(f"{path} is truncated: its last line is missing") from None
    if digest_of(body + b"\n").hex() != end.digest or (end.seal and end.with_seal() != end):
        raise TraceFileError(
            f"{path} was edited or damaged after it was saved: its digest does not fit its lines"
        )
    return end


def _recover_lines(data: bytes) -> tuple[list[bytes | None], _End] | None:
    """Return the known lines and the end of a damaged file; None if it is not damaged.

    A file whose last line is lost, or which was saved without checks, is treated as not being a trace file.
    """
    parts = trace_repair.end_of(data, _is_end)
    if parts is None:
        return None
    body, said = parts
    end = _end_decoder.decode(said)
    lines = trace_repair.lines_in(body, end.checks)
    whole = b"".join(line + b"\n" for line in lines if line is not None)
    if None not in lines and (digest_of(whole).hex() != end.digest or whole + said + b"\n" == data):
        return None
    return lines, end


def _is_end(line: bytes) -> bool:
    try:
        end = _end_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return bool(end.seal) and end.with_seal() == end


class _Replay:
    """Builds the trees from the lines of a file, and notes where they differ from the saved run."""

    def __init__(
        self,
        path: Path,
        open_model: Callable[[dict[str, Any]], Model],
        observers: Callable[[Model], Sequence[Observer]],
    ) -> None:
        self.path = path
        self.trees: list[Trace] = []
        self.changes: list[ChangedModel] = []
        self.ids: list[int | None] = []  # for each node of the file, its id in its tree
        self._open_model = open_model
        self._observers = observers
        self._first = 0  # the first node of the tree that is being read
        self._tree_of: list[int] = []
        self._parents: list[int] = []
        self._same: list[int | None] = []  # the last depth known to be as saved; None: it differs

    def begin(self, model: dict[str, Any]) -> None:
        """Start a tree of a model; the next line is its first node."""
        opened = self._open_model(model)
        self._first = len(self.ids)
        self.trace = Trace.start(opened, tuple(self._observers(opened)))
        self.trees.append(self.trace)
        self._actions = ActionReader(opened.action_type)

    def add(self, number: int, text: bytes | None) -> None:
        """Replay one line of the file; None is a lost one."""
        id_ = len(self.ids)
        if text is None:
            self._leave_out(id_)
            return
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

    def _leave_out(self, id_: int) -> None:
        """Continue without a line: its parent is unknown, so the previous node replaces it.

        The first line of the first tree contains nothing that its model does not define.
        """
        starts = id_ == self._first
        self._parents.append(id_ if starts else id_ - 1)
        self._same.append(0 if starts else None)
        self.ids.append(0 if starts else None)
        self._tree_of.append(len(self.trees) - 1)

    def find_kept(self, id_: int) -> tuple[int, int]:
        """Return the tree and its node for a node of the file, or for the nearest one above."""
        while (known := self.ids[id_]) is None:
            id_ = self._parents[id_]
        return self._tree_of[id_], known

    def _action(self, number: int, text: msgspec.Raw) -> Any:
        try:
            return self._actions.read(text)
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
            return None  # it follows a removed step, which was reported
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
            return  # it already differed further up
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
    """Return which fields of two worlds differ."""
    changed = [name for name, part in now.items() if saved.get(name, part) != part]
    new = [name for name in now if name not in saved]
    gone = [name for name in saved if name not in now]
    said = [
        f"{words} {', '.join(names)}"
        for words, names in (("in", changed), ("by the new", new), ("by the missing", gone))
        if names
    ]
    return f" {' and '.join(said)}" if said else ""
