"""A view of a reader's own: rows or a picture as a card, and one sentence where it cannot be."""

from __future__ import annotations

import json
import random

import pytest

import kipviz
from kipviz.views.role_cards.own_picture import BadPicture, checked_picture
from kipviz.views.role_cards.own_view import ROWS_MAX, BadView, OwnView, own_views
from kipviz.widgets.pages.page import page

CALLS: list[int] = []


def the_last_stable_offsets(world):
    """The last stable offset of every user topic."""
    user = {name: log for name, log in world.logs.items() if not name.startswith("__")}
    return {name: log.last_stable_offset for name, log in user.items()}


def who_runs(world):
    """Which brokers are running."""
    return [(f"broker {broker}", True, "done") for broker in world.up]


def bars(world):
    """A bar for each broker that runs."""
    return (
        '<svg viewBox="0 0 60 20">'
        + "".join(
            f'<rect x="{10 * n}" y="0" width="8" height="20"/>' for n, _ in enumerate(world.up)
        )
        + f"<text>{len(world.up)} run</text></svg>"
    )


def raises(world):
    raise KeyError("B9")


def keeps_state(world):
    CALLS.append(1)
    return {"calls": len(CALLS)}


def throws_dice(world):
    return {"dice": random.random()}


def walks_a_set(world):
    return {"first": next(iter({"a", "b", "c"}))}


def prints(world):
    print("here")
    return {}


def runs_for_ever(world):
    while True:
        pass


def leaves(world):
    raise SystemExit(3)


def returns_a_set(world):
    return {1, 2}


def returns_words(world):
    return "broker 1 runs"


def returns_nothing(world):
    return None


def returns_a_world(world):
    return {"all of it": world}


def returns_one_label_twice(world):
    return [("a", 1), ("a", 2)]


def returns_four_cells(world):
    return [("a", 1, "calm", 4)]


def returns_a_tone_that_is_none(world):
    return [("a", 1, "brokn")]


def returns_too_much(world):
    return {str(n): n for n in range(ROWS_MAX + 1)}


def returns_a_script(world):
    return "<svg><script>alert(1)</script></svg>"


@pytest.fixture(scope="module")
def world():
    return kipviz.Cluster("kip-1289-small").world


def list_shown(card_id, stepper):
    rows = stepper.payload["rows"]
    return [
        (r["from"], r["to"], r["cells"]["label"], r["cells"]["value"])
        for r in rows
        if r["card"] == card_id
    ]


# --- what it shows -----------------------------------------------------------------------------------


def test_rows_become_a_card_with_the_functions_name_and_first_line():
    stepper = kipviz.open("kip-1289-group-commit", views=[who_runs])
    head = stepper.payload["cards"][
        [c["id"] for c in stepper.payload["cards"]].index("view:who_runs")
    ]
    assert (head["title"], head["where"]) == ("who runs", "Which brokers are running.")
    assert list_shown("view:who_runs", stepper) == [
        (0, None, f"broker {n}", "True") for n in kipviz.Cluster("kip-1289-group-commit").world.up
    ]
    assert {r["tone"] for r in stepper.payload["rows"] if r["card"] == "view:who_runs"} == {"done"}


def test_a_row_lives_as_long_as_its_value_and_why_names_the_steps_behind_it():
    stepper = kipviz.open("kip-1289-group-commit", views=[the_last_stable_offsets]).last()
    told = list_shown("view:the_last_stable_offsets", stepper)
    assert len(told) > len({label for _, _, label, _ in told})
    label = next(label for since, _, label, _ in told if since)
    said = stepper.why("the last stable offsets", label)
    assert said.startswith(f"the_last_stable_offsets, {label}: ")
    assert len(said.splitlines()) > 1


def test_a_branch_has_the_card_and_says_what_the_function_returns_there():
    stepper = kipviz.open("kip-1289-group-commit", views=[who_runs])
    stepper.fault_at("B1 crashes after PREPARE_COMMIT")
    made = stepper.known_branches[-1]
    assert "broker 1" in [row for card, row, _ in made["closes"] if card == "view:who_runs"]
    begun = [row["id"] for row in made["rows"] if row["card"] == "view:who_runs"]
    assert begun
    assert "broker 1" not in begun
    pair = kipviz.compare(stepper, 0, made["id"], views=[bars])
    assert pair.lines == [0, made["id"]]
    assert pair.payload["right"]["branches"][0]["name"] == made["name"]


def test_a_copy_keeps_its_views_and_view_gives_an_open_stepper_some():
    stepper = kipviz.open("kip-1289-small")
    stepper.step = 7
    made = stepper.view(who_runs, bars)
    assert made.step == 7
    assert [c["id"] for c in made.copy().payload["cards"][-2:]] != []
    for one in (made, made.copy()):
        assert {"view:who_runs", "view:bars"} <= {c["id"] for c in one.payload["cards"]}
    assert "view:bars" not in {c["id"] for c in stepper.payload["cards"]}


def test_both_sides_of_a_comparison_have_the_card():
    pair = kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D", views=[who_runs])
    for side in ("left", "right"):
        assert "view:who_runs" in {c["id"] for c in pair.payload[side]["cards"]}
    one = kipviz.open("kip-1289-small", views=[bars])
    other = kipviz.open("kip-1289-small", "finding-D", views=[bars])
    told = kipviz.compare(one, other).payload
    assert all("view:bars" in {c["id"] for c in told[side]["cards"]} for side in ("left", "right"))


def test_an_exported_page_has_the_card():
    exported = page(kipviz.open("kip-1289-small", views=[who_runs, bars]).payload)
    assert "Which brokers are running." in exported


def test_a_saved_run_and_a_link_have_nothing_of_the_function(tmp_path):
    stepper = kipviz.open("kip-1289-small", views=[who_runs])
    bare = kipviz.open("kip-1289-small")
    assert kipviz.permalink(stepper) == kipviz.permalink(bare)
    kipviz.save(stepper, tmp_path / "run.trace")
    assert "who_runs" not in (tmp_path / "run.trace").read_text()
    again = kipviz.open_trace(tmp_path / "run.trace")
    assert not [c for c in again.payload["cards"] if c["id"].startswith("view:")]
    kept = kipviz.open("kip-1289-small", keep=tmp_path / "kept", views=[who_runs])
    assert "view:who_runs" in {c["id"] for c in kept.payload["cards"]}
    assert "who_runs" not in (tmp_path / "kept").read_text()


def test_a_picture_is_one_row_with_its_words_and_a_name_space(world):
    card = OwnView(bars).card(world)
    assert list(card) == ["picture"]
    assert card["picture"]["value"] == f"{len(world.up)} run"
    assert card["picture"]["svg"].startswith('<svg xmlns="http://www.w3.org/2000/svg" viewBox')


def test_values_are_texts_and_those_that_are_not_to_be_seen_are_written_out(world):
    def several(world):
        return [
            ("none", None),
            ("half", 0.5),
            ("yes", True),
            ("bell", "a\x07b\ud800c"),
            ("long", "x" * 900),
        ]

    card = OwnView(several).card(world)
    assert [cells["value"][:12] for cells in card.values()] == [
        "none",
        "0.5",
        "True",
        "a\\x07b\\ud800",
        "xxxxxxxxxxxx",
    ]
    json.dumps(card).encode()


# --- what is wrong with it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (raises, "Your view raises raised KeyError: 'B9'."),
        (leaves, "Your view leaves raised SystemExit: 3."),
        (keeps_state, "returned something else when it was asked again about the same world."),
        (throws_dice, "returned something else when it was asked again about the same world."),
        (walks_a_set, "or on the order of a set."),
        (prints, "Your view prints printed. A view only returns its rows."),
        (runs_for_ever, "was not done after 100,000 lines and is not asked again."),
        (returns_a_set, "returned a value of the type set. A view returns a mapping"),
        (returns_words, "returned a text that is not an SVG. A view returns a mapping"),
        (returns_nothing, "returned a value of the type NoneType."),
        (
            returns_a_world,
            "returned a value of the type World in row 'all of it'. A value is a text",
        ),
        (returns_one_label_twice, "returned two rows with the label 'a'."),
        (returns_four_cells, "returned ('a', 1, 'calm', 4) as row 1. A view returns"),
        (returns_a_tone_that_is_none, "Did you mean 'broken'?"),
        (returns_too_much, "returned 201 rows. A card has 200 at most."),
        (returns_a_script, "returned an SVG that has the element <script>. Allowed are"),
    ],
)
def test_what_is_wrong_with_a_view_is_one_sentence_on_its_card(world, function, sentence):
    card = OwnView(function).card(world)
    assert list(card) == ["wrong"]
    assert sentence in card["wrong"]["value"]
    assert card["wrong"]["value"].startswith(f"Your view {function.__name__} ")
    assert "\n" not in card["wrong"]["value"]
    assert card["wrong"]["tone"] == "broken"


def test_nothing_else_of_the_page_breaks_with_a_view_that_is_wrong():
    bad = kipviz.open("kip-1289-small", views=[raises, keeps_state, runs_for_ever, who_runs])
    good = kipviz.open("kip-1289-small", views=[who_runs])
    wrong = ("view:raises", "view:keeps_state", "view:runs_for_ever")
    assert [r for r in bad.payload["rows"] if r["card"] not in wrong] == good.payload["rows"]
    assert bad.payload["steps"] == good.payload["steps"]
    assert [row[0] for row in list_shown("view:raises", bad)] == [0]


def test_a_view_that_cannot_be_asked_again_is_asked_no_more(world):
    view = OwnView(keeps_state)
    view.card(world)
    before = len(CALLS)
    view.card(world)
    assert len(CALLS) == before


def test_an_exception_in_some_worlds_leaves_the_others_alone(world):
    def fragile(world):
        return {"first": world.up[0], "budget": 1 // (len(world.applications) - 1)}

    view = OwnView(fragile)
    assert "ZeroDivisionError" in view.card(world)["wrong"]["value"]
    other = kipviz.Cluster("kip-1289-two-members").world
    assert "first" in view.card(other)


@pytest.mark.parametrize(
    ("views", "sentence"),
    [
        (who_runs, "views must be a list of functions"),
        ("who_runs", "views must be a list of functions"),
        (["who_runs"], "a view must be a function written with def"),
        ([lambda _: {}], "a view must be a function written with def"),
        ([len], "a view must be a function written with def"),
        (
            [list_shown],
            r"a view takes one argument, the world. list_shown takes \(card_id, stepper\)",
        ),
        ([who_runs, who_runs], "two views are called who_runs"),
    ],
)
def test_what_can_be_no_view_is_one_sentence_before_anything_is_opened(views, sentence):
    with pytest.raises(BadView, match=sentence):
        own_views(views)
    with pytest.raises(ValueError, match=sentence):
        kipviz.open("kip-1289-small", views=views)


# --- pictures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "svg",
    [
        "<svg><foreignObject/></svg>",
        "<svg><image href='https://example.org/a.png'/></svg>",
        "<svg onload='alert(1)'/>",
        "<svg><rect ONCLICK='alert(1)'/></svg>",
        "<svg><use href='https://example.org/a.svg#b'/></svg>",
        "<svg xmlns:xlink='http://www.w3.org/1999/xlink'><use xlink:href='data:image/svg+xml,x'/></svg>",
        "<svg><rect fill='url(https://example.org/a)'/></svg>",
        "<svg><rect style='fill: u\\72l(https://example.org)'/></svg>",
        "<svg><style>@import 'https://example.org'</style></svg>",
        "<svg><animate attributeName='href'/></svg>",
        "<svg><a href='#x'/></svg>",
        "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>",
        "<svg><!-- a --></svg>",
        "<svg><rect></svg>",
        "<svg>\ud800</svg>",
        "<svg xmlns='http://www.w3.org/1999/xhtml'/>",
        "<svg>" + "<g/>" * 20_000 + "</svg>",
    ],
)
def test_an_svg_with_anything_but_shapes_and_words_is_refused(svg):
    with pytest.raises(BadPicture):
        checked_picture(svg)


def test_an_svg_of_shapes_gradients_and_words_is_taken_as_it_is():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><defs><linearGradient id="a"/></defs>'
        '<rect fill="url(#a)"/><use href="#a"/><text>LSO</text></svg>'
    )
    assert checked_picture(svg) == svg
