"""The types of what the model of the site tells a page, for its JavaScript, written from `desk`.

``python -m kipviz.site.desk_types`` writes ``widgets/front/types/desk.d.ts``. A test fails if the file differs from `desk`.
"""

from __future__ import annotations

from kipviz.site import desk
from kipviz.widgets.pages import page_types

DECLARATIONS = page_types.DECLARATIONS.with_name("desk.d.ts")
ROOTS: tuple[type, ...] = (desk.OpenedRun, desk.Searched)
HEAD = """\
// Made from the types in kipviz/site/desk.py by `python -m kipviz.site.desk_types`; do not edit.
// SPDX-License-Identifier: Apache-2.0
import type { Payload } from "./payload";
"""


def declarations() -> str:
    """Return the text of the declarations: one interface for each type that only the site's model uses."""
    known = set(page_types.schemas(page_types.ROOTS))
    return HEAD + page_types.declarations_of(
        each for each in page_types.schemas(ROOTS) if each not in known
    )


if __name__ == "__main__":
    DECLARATIONS.write_text(declarations(), encoding="utf-8")
