"""`kipviz pains`."""

import pytest

from kipviz.scenarios.pains import PAINS


def test_every_symptom_is_listed_with_its_cause_and_way_out(kipviz):
    done = kipviz("pains")
    assert done.status == 0
    for pain in PAINS:
        assert f"{pain.number:>2}. {pain.symptom}" in done.out
    assert done.out.count("way out") == len(PAINS)


def test_one_symptom_comes_with_the_permalink_to_its_step(kipviz):
    (entry,) = kipviz("pains", "2", "--json").document["pains"]
    assert entry["story"] == "pain-timed-out"
    assert entry["permalink"].startswith("kv2.")
    opened = kipviz("play", entry["permalink"], "--json").document
    assert opened["scenario"] == "pain-timed-out"


def test_a_story_opens_at_the_step_that_shows_the_symptom(kipviz, tmp_path):
    page = tmp_path / "pain.html"
    done = kipviz("pains", "16", "--open", "--no-browser", "--to", page, "--json")
    (entry,) = kipviz("pains", "16", "--json").document["pains"]
    assert done.document["step"] == entry["step"]
    assert page.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pains", "99"), "there is no symptom 99; they are numbered from 1 to 25"),
        (("pains", "0"), "argument NUMBER: it must be a whole number of at least 1, not '0'"),
        (("pains", "--open"), "name the symptom to open: `kipviz pains` lists their numbers"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(refused, words, sentence):
    assert sentence in refused(*words)
