"""The page's types are made from the schemas of what it is sent, and are as new as they are."""

from __future__ import annotations

import re

import msgspec
import pytest

from kipviz.views.page_parts import Cells
from kipviz.widgets import Compare
from kipviz.widgets.pages import page_types, payload
from tests.widgets import flow


def test_the_types_of_the_page_are_as_new_as_the_schemas():
    stored = page_types.DECLARATIONS.read_text(encoding="utf-8")
    assert stored == page_types.declarations(), "run `python -m kipviz.widgets.pages.page_types`"


def test_every_field_of_a_payload_has_a_type_under_the_name_that_is_sent():
    told = page_types.declarations()
    for schema in (payload.Payload, payload.Message, payload.Branch, payload.Comparison):
        body = re.search(rf"export interface {schema.__name__} \{{\n(.*?)\n\}}", told, re.DOTALL)
        assert body
        fields = re.findall(r"^  (\w+)\??:", body[1], re.MULTILINE)
        assert fields == list(schema.__struct_encode_fields__)


def test_what_has_a_default_may_be_missing_and_what_has_none_may_not():
    told = page_types.declarations()
    assert "  from: string;\n" in told
    assert "  arrived?: number | null;\n" in told
    assert '  state: "broken" | "holds" | "pending";\n' in told
    assert "  bytes?: [string, string] | null;\n" in told


def test_a_cell_that_no_type_names_is_any_of_the_page_nowhere():
    assert not re.search(r"\bany\b", re.sub(r"/\*\*.*?\*/", "", page_types.declarations()))
    assert "  cells: Cells;\n" in page_types.declarations()


def test_every_cell_of_a_row_has_a_type():
    names = set(Cells.__annotations__)
    for made in (flow.share_payload(), flow.repaired_payload()):
        for row in made["rows"]:
            assert set(row["cells"]) <= names, row
        msgspec.convert(made, payload.Payload)


def test_a_cell_of_another_type_is_rejected_with_its_place():
    made = flow.share_payload()
    row = next(row for row in made["rows"] if "offset" in row["cells"])
    wrong = {**made, "rows": [{**row, "cells": {**row["cells"], "offset": "7"}}]}
    with pytest.raises(ValueError, match=r"Expected `int`, got `str` - at `\$.rows\[0\].cells"):
        payload.read(wrong)


def test_an_answer_has_the_branch_as_its_schema_says_and_the_place_of_the_cursor():
    told = page_types.declarations()
    body = re.search(r"export interface Answer \{\n(.*?)\n\}", told, re.DOTALL)
    assert body
    assert "  branch?: Branch;" in body[1]
    assert "  go?: BranchStep;" in body[1]
    assert "  error?: string;" in body[1]


def test_a_comparison_is_as_its_schema_says():
    sent = Compare(flow.share_payload(), flow.repaired_payload()).payload
    known = msgspec.convert(sent, payload.Comparison)
    assert list(known.names) == sent["names"]
    assert known.differences[0].sentence
    with pytest.raises(msgspec.ValidationError, match="pairs"):
        msgspec.convert({**sent, "pairs": [[0]]}, payload.Comparison)


def test_a_schema_with_a_type_that_json_has_not_is_refused_in_one_sentence(monkeypatch):
    class Odd(msgspec.Struct):
        data: bytes

    monkeypatch.setattr(page_types, "ROOTS", (Odd,))
    with pytest.raises(TypeError, match="a page's data has no BytesType: use any, bool"):
        page_types.declarations()
