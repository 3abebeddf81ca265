"""The words that a reader meets, each explained where it stands."""

from __future__ import annotations

import re

import pytest

from kipviz.lessons.glossary import GLOSSARY, terms_in
from kipviz.widgets.lab import open_run


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_meaning_is_one_short_sentence_that_does_not_begin_with_its_term(term):
    sentence = GLOSSARY[term]
    assert sentence[0].isupper()
    assert sentence.endswith((".", ")."))
    assert len(sentence) < 130
    assert not sentence.lower().startswith(f"{term.lower()} is")


def test_the_longest_term_that_fits_is_meant():
    found = terms_in(["The share-partition leader of src-0 answers."])
    assert list(found) == ["share-partition leader"]


def test_a_term_inside_another_word_is_none():
    assert terms_in(["LSOx, my.marker, markers_sent"]) == {}


def test_a_story_brings_the_terms_of_its_own_sentences_and_no_others():
    payload = open_run("kip-1289-lock-expiry", "repaired").payload
    said = " ".join(s["sentence"] for s in payload["steps"]) + " ".join(
        b["say"] for b in payload["bigs"]
    )
    assert "PREPARE_COMMIT" in payload["glossary"]
    for term in payload["glossary"]:
        assert re.search(rf"(?<![\w.]){re.escape(term)}(?!\w)", said), term
