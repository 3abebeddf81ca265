"""Put a change into modules that are imported already: their functions get the changed code in place.

Python's functions are objects that others hold by many names (imports, tables of handlers, methods), so the
object stays and its code is exchanged. Nothing has to be imported again, which is what makes a trial cheap.
"""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType

from tests.mutants.operators import Mutant, Site, change, sites, states
from tests.mutants.probes import watch_file
from tests.tidy.source import PACKAGE, ROOT

Key = tuple[str, str, int]


class NotLive(Exception):
    """The change is in no function: it shows only when its module is imported."""


class Functions:
    """All functions of the package that are in memory, by file, name and line."""

    def __init__(self) -> None:
        """Look through the memory once; what is imported later is not seen."""
        self._known: dict[Key, list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename.startswith(
                str(PACKAGE)
            ):
                self._known[_key(found.__code__)].append(found)

    def put(self, mutant: Mutant) -> None:
        """Exchange the code of what the mutant changes, in this process.

        Raises:
            NotLive: if no function holds the change.
        """
        if not mutant.inside:
            raise NotLive(mutant.place)
        tree, found = parse_file(mutant.file)
        part = _part(tree, mutant.line)
        file = str(ROOT / mutant.file)
        old = compile(part, file, "exec", dont_inherit=True)
        change(found[mutant.number])
        new = compile(ast.fix_missing_locations(part), file, "exec", dont_inherit=True)
        if not _same_outside(old, new):
            raise NotLive(mutant.place)
        self._exchange(old, new, mutant.place)

    def watch(self, file: str, mutants: Iterable[Mutant]) -> None:
        """Have the places of these changes of one file watched from here on, in this process."""
        path = ROOT / file
        old = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
        new = compile(watch_file(file, mutants), str(path), "exec", dont_inherit=True)
        self._exchange(old, new, file)

    def _exchange(self, old: CodeType, new: CodeType, place: str) -> None:
        before = {_key(code): code for code in _codes(old)}
        for code in _codes(new):
            if before.get(_key(code)) == code:
                continue
            for function in self._known.get(_key(code), ()):
                if function.__code__.co_freevars != code.co_freevars:
                    raise NotLive(place)
                function.__code__ = code


@lru_cache(maxsize=8)
def parse_file(file: str) -> tuple[ast.Module, list[Site]]:
    """A file's tree and its places; a child that changes its own tree changes no other's."""
    path = ROOT / file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tree, list(sites(tree, states(path)))


def _part(tree: ast.Module, line: int) -> ast.Module:
    """The one statement of a module that holds a line, behind what the module has of the future."""
    future = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    held = [s for s in tree.body if s.lineno <= line <= (s.end_lineno or s.lineno)]
    return ast.Module([*future, *held], [])


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


def _same_outside(old: CodeType, new: CodeType) -> bool:
    """Tell whether what an import runs is the same: a module's and its classes' own statements."""
    if old.co_code != new.co_code or old.co_names != new.co_names:
        return False
    if len(old.co_consts) != len(new.co_consts):
        return False
    for before, after in zip(old.co_consts, new.co_consts, strict=True):
        if isinstance(before, CodeType) and isinstance(after, CodeType):
            body = not before.co_flags & 0x2  # a class's body has no fast locals (CO_NEWLOCALS)
            if body and not _same_outside(before, after):
                return False
        elif before != after or type(before) is not type(after):
            return False
    return True
