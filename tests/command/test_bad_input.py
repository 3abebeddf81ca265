"""Bad input: exit status 2, one sentence on stderr, nothing on stdout."""

import pytest

SEEDED = ("replay", "--scenario", "kip-1289-small")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("play", "kip-0"), "there is no scenario 'kip-0'; nearest are "),
        (("play", "kip-1289-small", "--design", "x"), "there is no design 'x'; nearest are "),
        (("play", "kip-1289-small", "--design", "repaired+x=y"), "there is no slot 'x'"),
        (
            ("play", "kip-1289-small", "--design", "repaired+eviction=y"),
            "slot eviction has no option 'y'; it has refused, allowed",
        ),
        (("play", "kip-1289-small", "--design", "repaired+y"), "is not of the form slot=option"),
        (("play", "kip-1289-small", "--design", ""), "there is no design ''"),
        (("compare", "kip-1289-small", "--left", "", "--right", ""), "there is no design ''"),
        (
            ("play", "kip-1289-small", "--design", "repaired+eviction=refused+eviction=allowed"),
            "the slot 'eviction' is named twice",
        ),
        (
            ("export", "kip-1289-small", "--to", "/dev/null", "--format", "svg"),
            "cannot write /dev/null: it is not an ordinary file",
        ),
        (
            ("export", "kip-1289-small", "--to", "run.html", "--format", "svg"),
            "run.html ends in .html, and --format svg writes .svg",
        ),
        (("play",), "name a SCENARIO or a permalink, or a file with --from-trace"),
        (("play", "kip-1289-small", "--text", "--json"), "not allowed with argument"),
        (("play", "kip-1289-small", "--colour"), "unrecognized arguments: --colour"),
        (("explore", "kip-0", "--design", "repaired"), "there is no scenario 'kip-0'"),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--cut", "B1 | *"),
            "a search with a network partition takes --faults cut=1 or more",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--cut", "B1 | B9"),
            "there is no host B9; the hosts are B1, B3, B5, B7, app-1",
        ),
        (("explore", "kip-1289-small"), "the following arguments are required: --design"),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--reduce", "magic"),
            "there is no reduction 'magic'; the reductions are symmetry, order",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--reduce", "symmetry"),
            "no two applications of this cluster are interchangeable",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--resume", __file__),
            "test_bad_input.py is not a search saved by kipviz",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--resume", "/dev/null"),
            "cannot write /dev/null: it is not an ordinary file",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--faults", "flood=1"),
            "there is no fault 'flood'; the faults are ",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--faults", "stormy"),
            "'stormy' is neither a fault profile (calm, rough, hostile) nor of the form",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--faults", "cut=-1"),
            "cut must be a whole number of at least 0, not '-1'",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--faults", "cut=1,cut=2"),
            "the fault 'cut' is named twice",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--states-max", "0"),
            "it must be a whole number of at least 1, not '0'",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--master", "local[2]"),
            "--master and --folder are for --spark",
        ),
        (
            ("explore", "kip-1289-small", "--design", "repaired", "--spark", "--full-states"),
            "--full-states and --resume are for a search without --spark",
        ),
        (("compare", "kip-1289-small", "--left", "x", "--right", "y"), "there is no design 'x'"),
        (("compare", "kip-1289-small"), "it takes two designs, --left and --right, or a second"),
        (
            (*SEEDED, "--design", "repaired", "--seed", str(2**64)),
            "a seed can have at most 63 bits, not 18446744073709551616",
        ),
        (
            ("outcomes", "kip-1289-small", "--design", "repaired", "--seeds", "1", "--row", "99"),
            "there is no row 99; rows are 1 to 1",
        ),
        (
            (*SEEDED, "--design", "repaired", "--seed", "7.5"),
            "a seed must be a whole number, such as 7, not '7.5'",
        ),
        (
            (*SEEDED, "--design", "repaired", "--faults", "x", "--seed", "7"),
            "there is no fault profile 'x'; the profiles are calm, rough, hostile",
        ),
        ((*SEEDED, "--design", "x", "--seed", "7"), "there is no design 'x'"),
        (("list", "colours"), "invalid choice: 'colours'"),
        (("dance",), "invalid choice: 'dance'"),
        ((), "the following arguments are required: COMMAND"),
        (
            ("campaign", "--scenario", "kip-1289-small", "--designs", "x", "--way", "loop"),
            "no design 'x'",
        ),
        (
            ("campaign", "--scenario", "a,,b", "--designs", "repaired", "--way", "loop"),
            "it must be names with commas between them, not 'a,,b'",
        ),
        (
            ("campaign", "--scenario", "kip-1289-small", "--designs", "repaired", "--runs", "many"),
            "it must be a whole number of at least 1, not 'many'",
        ),
        (
            ("campaign", "--scenario", "kip-1289-small", "--designs", "repaired", "--faults", "x"),
            "no fault profile 'x'",
        ),
        (
            (
                *("campaign", "--scenario", "kip-1289-small", "--designs", "repaired"),
                *("--way", "loop", "--master", "local"),
            ),
            "--master is for --way spark",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(refused, words, said):
    assert said in refused(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("play", "kip-1289-small", "--design", "kafka"),
        ("export", "kip-1289-small", "--design", "kafka", "--to", "run.md"),
        ("explore", "kip-1289-small", "--design", "kafka"),
        ("compare", "kip-1289-small", "--left", "kafka", "--right", "repaired"),
        (*SEEDED, "--design", "kafka", "--seed", "1"),
        ("campaign", "--scenario", "kip-1289-small", "--designs", "repaired,kafka"),
    ],
)
def test_a_design_that_lacks_what_a_story_is_about_is_refused(refused, words):
    said = refused(*words)
    assert "which design kafka does not have; play it under repaired" in said


def test_a_story_that_a_design_makes_impossible_is_refused(refused, monkeypatch):
    from kipviz.scenarios import library
    from kipviz.scenarios.documents.read import Document
    from kipviz.scenarios.script import Beat

    story = library.scenario("kip-1289-small").but(beats=(Beat("never", "", ("pigs fly",)),))
    monkeypatch.setattr(library, "document", lambda _: Document(story))
    assert "'pigs fly' is not possible now" in refused("play", "kip-1289-small")


def test_a_mistake_in_kipviz_never_looks_like_a_broken_property(kipviz, monkeypatch):
    from kipviz.scenarios.scenario import Scenario

    def mistake(self, design):
        return {}["nothing"]

    monkeypatch.setattr(Scenario, "play", mistake)
    done = kipviz("play", "kip-1289-small")
    assert done.status == 70
    assert done.out == ""
    assert "KeyError" in done.err


def test_an_interrupted_command_says_so(kipviz, monkeypatch):
    from kipviz.checking.search import explore

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(explore.Search, "run", interrupt)
    done = kipviz("explore", "kip-1289-small", "--design", "repaired")
    assert (done.status, done.out, done.err) == (130, "", "kipviz: interrupted\n")


def test_help_and_version_are_no_errors(capsys):
    from kipviz import __version__
    from kipviz.command.main import COMMANDS, main

    for words in (["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0
    assert __version__ in capsys.readouterr().out
