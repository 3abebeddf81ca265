"""A module on disk: FILE.tla, and for each design a .cfg that counts states and one that looks for broken properties."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from kipviz.checking.tla.module import Module, module_of
from kipviz.checking.tla.names import word
from kipviz.checking.tla.reachable_states import STATES_MAX, NotWhole, Searched, search_designs
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.outside import atomic_write
from kipviz.designs.design import Design
from kipviz.scenarios.scenario import Scenario

SUFFIX = ".tla"
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")


class ModuleFiles(msgspec.Struct, frozen=True, eq=False):
    """The files of a module: the module first, then the .cfg files, each with its purpose."""

    module: str
    searches: tuple[Searched, ...]
    files: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """What TLC must find in them, in words: the counts to compare with its own."""
        stem = Path(self.module).stem
        told = [
            f"{config}: {each.design.name}; TLC has to find {each.explored.states} distinct states and "
            f"to generate {each.explored.transitions + 1}"
            for config, each in zip(self.files[1::2], self.searches, strict=True)
        ]
        first = Path(self.files[1]).name
        run = f"java -cp tla2tools.jar tlc2.TLC -deadlock -config {first} {stem}"
        return (f"{self.module}: a TLA+ module", *told, f"run it with: {run}")

    def __repr__(self) -> str:
        """Return the files and the counts, one line each."""
        return "\n".join(self.lines)


def check_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the module in a file.

    Raises:
        NotWhole: if a module cannot have it.
    """
    place = Path(path)
    if place.suffix != SUFFIX or not _NAME.fullmatch(place.stem):
        raise NotWhole(
            f"a module's file must have the name of the module: a letter, then letters, digits and underscores, then .tla, "
            f"such as kip_1289_small.tla, not {place.name!r}"
        )
    return place.stem


def write(
    path: str | os.PathLike[str],
    scenario: Scenario,
    designs: Sequence[Design],
    budget: FaultBudget,
    settings: Sequence[str] = (),
    *,
    states_max: int = STATES_MAX,
    go_on: Callable[[int, int], bool] | None = None,
) -> ModuleFiles:
    """Search a cluster under each design, and write the module and its .cfg files.

    Raises:
        NotWhole: if a search does not end, or the name cannot be a module's.
        OSError: if a file cannot be written.
    """
    name = check_name(path)
    names = [design.name for design in designs]
    if len(set(names)) != len(names):
        raise NotWhole("each design of a module is named once")
    found = search_designs(scenario, designs, budget, settings, states_max, go_on)
    module = module_of(name, scenario, found, budget, settings)
    texts = _texts(Path(path), module)
    for place, text in texts.items():
        atomic_write.write(place, text.encode())
    return ModuleFiles(str(path), found.searches, tuple(texts))


def _texts(path: Path, module: Module) -> Mapping[str, str]:
    texts = {str(path): module.text}
    properties = dict(module.properties)
    for at, (design, counting) in enumerate(module.settings):
        stem = f"{module.name}_{word(design)}" if at else module.name
        texts[str(path.with_name(f"{stem}.cfg"))] = counting
        texts[str(path.with_name(f"{stem}_properties.cfg"))] = properties[design]
    return texts
