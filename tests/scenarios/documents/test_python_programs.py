"""Programs in Python: what the package has itself, written as Python, what the page lights, and what is refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import kipviz
from kipviz.checking.single_run import runs
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.catching import catchable, class_thrown
from kipviz.clients.program_source import number_in_source, source_of
from kipviz.clients.throwing.client_errors import CallTimedOut, request_error
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import Step, TimeOutCall
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, FaultBudget
from kipviz.command.main import main
from kipviz.driving.cluster import Cluster
from kipviz.lessons.own_story import story
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.scenarios import library
from kipviz.scenarios.applications import programs
from kipviz.scenarios.documents.bad_story import BadStory, Wrong
from kipviz.scenarios.documents.programs_in_text import write_program
from kipviz.scenarios.documents.python_program import (
    LETTERS_MAX,
    LINES_MAX,
    is_python,
    read_python,
)
from kipviz.scenarios.documents.read import read_story
from kipviz.scenarios.documents.write import write_story
from kipviz.scenarios.script import next_by_itself
from tests.cluster.small_clusters import small_spec

GROUP_LOOP = """
    producer.init_transactions()
    while True:
        records = consumer.poll()
        try:
            producer.begin_transaction()
            for record in records:
                producer.send(transform(record))
            producer.send_offsets_to_transaction(offsets(records), consumer.group_metadata())
            producer.commit_transaction()
        except KafkaException:
            producer.abort_transaction()
"""
SHARE_LOOP = """
    producer.init_transactions()

    while True:
        records = share_consumer.poll(5.0)
        try:
            producer.begin_transaction()
            for record in records:
                producer.send(process(record))
            producer.send_share_acknowledgements_to_transaction(
                {record.offset: AcknowledgeType.ACCEPT for record in records},
                share_consumer.share_group_metadata(),
            )
            producer.commit_transaction()  # blocks
        except (ProducerFencedException, UnsupportedVersionException) as fatal:
            raise fatal
        except KafkaException:
            producer.abort_transaction()
"""
AT_LEAST_ONCE = """
    producer.init_transactions()
    while True:
        records = consumer.poll()
        producer.begin_transaction()
        producer.send(output(records))
        producer.commit_transaction()
        consumer.commit_sync()
"""


def without(text: str, word: str) -> str:
    """Return a text without the lines that have a word."""
    return "\n".join(line for line in text.split("\n") if word not in line)


# The package's programs, and the same in Python.
SAME = {
    "group-loop": GROUP_LOOP,
    "share-loop": SHARE_LOOP,
    "share-loop-of-case-9": without(SHARE_LOOP, "fatal"),
    "snapshot-loop": SHARE_LOOP.replace(
        "            for record in records:\n",
        "            metadata = share_consumer.share_group_metadata()\n            for record in records:\n",
        1,
    ).replace("share_consumer.share_group_metadata(),", "metadata,"),
    "copy-and-commit": AT_LEAST_ONCE,
    "copy": AT_LEAST_ONCE.replace("        consumer.commit_sync()\n", ""),
    "group-loop-bare": GROUP_LOOP.replace(
        "consumer.group_metadata()", 'ConsumerGroupMetadata("my-group")'
    ),
    "commit-again": """
    producer.init_transactions()
    while True:
        records = consumer.poll()
        producer.begin_transaction()
        producer.send(output(records))
        while True:
            try:
                producer.commit_transaction()
                break
            except KafkaException:
                pass
    """,
    "commit-then-abort": """
    producer.init_transactions()
    records = consumer.poll()
    producer.begin_transaction()
    try:
        producer.send(output(records))
        producer.commit_transaction()
    except KafkaException:
        producer.abort_transaction()
    producer.begin_transaction()
    try:
        producer.send(output(records))
    except KafkaException:
        pass
    producer.abort_transaction()
    """,
    "send-three": "\n".join(
        ["records = consumer.poll()", "producer.send(f(records))"] * 3 + ["producer.flush()"]
    ),
    "read": "while True:\n    records = consumer.poll()\n    process(records)",
    "read-and-unsubscribe": "consumer.poll()\nconsumer.unsubscribe()",
    "poll-and-close": "share_consumer.poll()\nshare_consumer.close()",
    "work": """
    while True:
        records = share_consumer.poll()
        for record in records:
            process(record)
            share_consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        share_consumer.commit_sync()
    """,
    "reject-commit": """
    producer.init_transactions()
    records = share_consumer.poll()
    producer.begin_transaction()
    producer.send_share_acknowledgements_to_transaction(
        {record.offset: REJECT for record in records}, share_consumer.share_group_metadata()
    )
    producer.commit_transaction()
    """,
    "dual-write": """
    producer.init_transactions(keep_prepared_txn=True)
    try:
        producer.complete_transaction(database.state())
    except KafkaException:
        pass
    while True:
        consumer.seek(database.position())
        try:
            while True:
                records = consumer.poll()
                producer.begin_transaction()
                producer.send(output(records))
                state = producer.prepare_transaction()
                database.insert(rows(records), state)
                database.commit()
                producer.complete_transaction(database.state())
        except KafkaException:
            producer.abort_transaction()
    """,
    "end-what-hangs": """
    admin.find_hanging("output-A-0")
    admin.abort_transaction("output-A-0")
    """,
}


def read(text: str) -> tuple[Line, ...]:
    texts = dedent(text).strip("\n").split("\n")
    return read_python(list(enumerate(texts, 1)), 1).program


def calls(program: tuple[Line, ...]) -> list[Line]:
    """Return what a program does, without the words that it is shown in."""
    return [line.but(text="", above=(), below=()) for line in program]


def read_refusal(text: str) -> str:
    with pytest.raises(Wrong) as told:
        read(text)
    assert "\n" not in told.value.what
    return f"{told.value.line}: {told.value.what}"


# -- what it is --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAME)
def test_what_the_package_has_is_the_same_program_when_it_is_written_in_python(name: str) -> None:
    own = getattr(programs, name.upper().replace("-", "_"))
    mine, known = calls(read(SAME[name])), calls(own)
    if name == "reject-commit":
        # The package's program has the beginning of a loop whose catch block is not there.
        known = [line.but(on_error=-1) for line in known]
    if name == "dual-write":
        # The package has the catch block for two of the calls, Python for all of the inner loop.
        inner = range(3, 10)
        known = [line.but(on_error=10) if at in inner else line for at, line in enumerate(known)]
    assert mine == known


@pytest.mark.parametrize("name", SAME)
def test_its_source_is_kept_line_for_line(name: str) -> None:
    texts = [line.rstrip() for line in dedent(SAME[name]).strip().split("\n")]
    program = read(SAME[name])
    assert [line.text for line in source_of(program)] == texts
    assert is_python(program)
    assert list(write_program(program)) == texts
    for at, line in enumerate(program):
        assert texts[number_in_source(program, at) - 1] == line.text


def test_no_program_of_the_package_is_taken_for_python() -> None:
    assert not is_python(programs.GROUP_LOOP)
    assert next(write_program(programs.GROUP_LOOP)).startswith("0 initTransactions: ")


def test_a_line_that_is_shown_under_the_last_call_is_kept() -> None:
    program = read("try:\n    consumer.poll()\nexcept KafkaException:\n    pass\n# the end")
    assert [line.text for line in source_of(program)][-3:] == [
        "except KafkaException:",
        "    pass",
        "# the end",
    ]
    assert program[0].on_error == 1


def test_of_one_record_another_thing_may_be_said_than_of_all_others() -> None:
    staged = (
        "producer.send_share_acknowledgements_to_transaction({**{r.offset: RELEASE for r in records},"
        " 100: REJECT}, share_consumer.share_group_metadata())"
    )
    (*_, line) = read(f"records = share_consumer.poll()\n{staged}")
    assert [(offset, kind.name) for offset, kind in line.verdicts] == [
        (-1, "RELEASE"),
        (100, "REJECT"),
    ]


# -- what is refused ---------------------------------------------------------------------------

POLLED = "records = consumer.poll()\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os", "1: 'import' is not in a program: the clients are there"),
        (
            POLLED + "if records:\n    pass",
            "2: 'if' is not in a program: a program has no branches",
        ),
        (POLLED + "def f():\n    pass", "2: 'def' is not in a program"),
        (POLLED + "n = 1 + 1", "2: 'arithmetic' is not in a program: the model has no variables"),
        (POLLED + "n = 1", "2: '=' is not in a program"),
        (POLLED + "n += 1", "2: 'arithmetic' is not in a program"),
        (POLLED + "return", "2: 'return' is not in a program: a program is not a function"),
        (POLLED + "raise KafkaException()", "2: 'raise' is not in a program: it stands alone"),
        (POLLED + "with x:\n    pass", "2: 'with' is not in a program"),
        (POLLED + "producer.send(records + 1)", "2: BinOp is not in a program: the model sends"),
        (POLLED + "print(records)", "2: 'print' is a function of Python, which is read here"),
        (POLLED + "out = f(records)", "2: 'out' = f(…): write the function where its value"),
        (POLLED + "break", "2: 'break' is in a 'while True:'"),
        (POLLED + "records", "2: 'records' is not in a program: it calls no client"),
        (POLLED + "brodcast.send(records)", "2: unknown client 'brodcast'. Did you mean"),
        (
            POLLED + "producer.comit_transaction()",
            "2: unknown call of producer 'comit_transaction'. Did you mean 'commit_transaction'?",
        ),
        (POLLED + "producer.close()", "2: unknown call of producer 'close'"),
        (
            POLLED + "consumer.poll().first()",
            "2: a call is CLIENT.METHOD(…) with one of the clients",
        ),
        (
            POLLED + "more = consumer.poll()",
            "2: 'more': every poll() of a program gives its records",
        ),
        (POLLED + "x = producer.send(records)", "2: 'x' = …: producer.send() gives nothing"),
        (POLLED + "producer.send()", "2: producer.send() is written producer.send(a function of"),
        (POLLED + "producer.send(*records)", "2: the model reads arguments one by one"),
        (POLLED + "producer.send(f(other))", "2: unknown name 'other'. Did you mean 'records'?"),
        ("producer.send(f(records))", "1: there is no 'records' yet: records = consumer.poll()"),
        (POLLED + "consumer.commit_sync(1)", "2: consumer.commit_sync() is written consumer.commi"),
        (POLLED + "consumer.commit_sync(); consumer.poll()", "2: a line has one call"),
        ("while records:\n    consumer.poll()", "1: a 'while' loop in a program never ends"),
        ("while True:\n    pass", "1: a program calls a client at least once"),
        (POLLED + "while True:\n    pass", "1: after this line comes a loop without a call"),
        (
            "while True:\n    consumer.poll()\nelse:\n    pass",
            "4: 'else' of a while is not in a program",
        ),
        ("while True:\n    consumer.poll()\nconsumer.poll()", "3: this line is never reached"),
        (
            "for record in records:\n    f(record)",
            "1: 'for' must iterate over the records of poll()",
        ),
        (POLLED + "for r in records:\n    pass\nelse:\n    pass", "5: 'else' of a for"),
        (
            POLLED + "for r in records:\n    producer.send(r)\n    producer.send(r)",
            "4: a for has one call of a client",
        ),
        (
            POLLED + "for r in records:\n    producer.commit_transaction()",
            "3: 'for' is for send() and acknowledge(), not for commitTransaction()",
        ),
        (
            "producer.init_transactions()\nproducer.flush()",
            "2: 'flush' is for a producer without transactions",
        ),
        ("consumer.poll(", "1: this is not Python: 'consumer.poll('"),
        ("  consumer.poll()\nconsumer.poll()", "1: this is not Python"),
        ("share_consumer.acknowledge(100, ACEPT)", "1: unknown acknowledgement 'ACEPT'. Did you"),
        ("share_consumer.acknowledge(r, ACCEPT)", "1: share_consumer.acknowledge() is written"),
        ("", "1: a program calls a client at least once"),
        ("# nothing", "1: a program calls a client at least once"),
    ],
)
def test_what_a_program_cannot_carry_is_told_with_its_line_and_what_is_possible(text, says) -> None:
    texts = text.split("\n")
    with pytest.raises(Wrong) as told:
        read_python(list(enumerate(texts, 1)), 1)
    assert f"{told.value.line}: {told.value.what}".startswith(says)
    assert "\n" not in told.value.what


def attempt(excepts: str, body: str = "producer.commit_transaction()") -> str:
    return f"try:\n    {body}\n{excepts}"


@pytest.mark.parametrize(
    ("excepts", "says"),
    [
        ("finally:\n    producer.flush()", "4: 'finally' is not in a program"),
        (
            "except KafkaException:\n    pass\nelse:\n    consumer.poll()",
            "6: 'else' of a try is not in a program",
        ),
        (
            "except:\n    pass",
            "3: 'except:' also catches exceptions that are not KafkaExceptions: an IllegalState",
        ),
        (
            "except Exception:\n    pass",
            "3: 'except Exception' catches exceptions that are not KafkaExceptions",
        ),
        ("except IllegalStateException:\n    pass", "3: 'except IllegalStateException' catches"),
        ("except ApiException:\n    pass", "3: 'ApiException' stands for many exceptions"),
        (
            "except TimeoutException:\n    pass\nexcept KafkaException:\n    pass",
            "3: two 'except' that do something are more than a program has",
        ),
        ("except KafkaException:\n    raise", "3: the last 'except' does something"),
        (
            "except ProducerFencedException:\n    pass",
            "3: the process ends with ProducerFencedException; no call in this try throws",
        ),
        (
            "except RebalanceInProgressException:\n    pass",
            "3: no call in this try throws 'RebalanceInProgressException' in the model",
        ),
        (
            "except CommitFailedException:\n    raise\nexcept KafkaException:\n    consumer.poll()",
            "3: 'CommitFailedException' cannot be raised again in a program. Possible: Producer",
        ),
        (
            "except ProducerFencedException:\n    raise\nexcept KafkaException:\n    pass",
            "5: an 'except' under one that raises again begins with a call of a client",
        ),
        ("except (KafkaException, TimeoutException):\n    pass", "3: KafkaException is every one"),
        (
            "except kafka.KafkaException:\n    pass",
            "3: an 'except' must name classes of exceptions",
        ),
    ],
)
def test_what_no_catch_block_can_be_is_told_with_its_line(excepts: str, says: str) -> None:
    assert read_refusal(attempt(excepts)).startswith(says)


def test_a_try_in_a_try_takes_every_kafka_exception_or_is_refused() -> None:
    inner = (
        "        try:\n            consumer.poll()\n        except {}:\n            consumer.poll()"
    )
    outer = f"try:\n{inner}\nexcept KafkaException:\n    consumer.poll()".replace(
        "        ", "    "
    )
    program = read(outer.format("KafkaException"))
    assert [line.on_error for line in program] == [1, 2, -1]
    assert read_refusal(outer.format("OffsetOutOfRangeException")).startswith(
        "4: a try in a try takes"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"producer.send({'a.' * 9_000}b)",
        f"records = consumer.poll()\nproducer.send(records{'.value' * 5_000})",
        "(" * 9_000,
        "-" * 9_000 + "1",
        "\n".join("    " * depth + "while True:" for depth in range(90)),
        "x" * 1_000_000,
        "consumer.poll('\0')",
        "consumer.poll('\ud800')",
        "consumer.poll(" + "9" * 5_000 + ")",
    ],
)
def test_what_is_too_deep_or_too_long_or_no_text_is_one_short_sentence(text: str) -> None:
    texts = text.split("\n")
    with pytest.raises(Wrong) as told:
        read_python(list(enumerate(texts, 1)), 1)
    assert len(told.value.what) < 400
    assert "\n" not in told.value.what
    told.value.what.encode()


def test_the_limits_of_a_program_are_told() -> None:
    assert f"at most {LINES_MAX} lines and {LETTERS_MAX:,} letters, not 401 and" in read_refusal(
        "\n".join(["consumer.poll()"] * 401)
    )
    assert len(read("\n".join(["consumer.poll()"] * LINES_MAX))) == LINES_MAX


# -- what is caught ----------------------------------------------------------------------------


def test_every_class_that_an_except_may_name_is_one_that_a_call_throws() -> None:
    assert catchable(Call.SEND_OFFSETS) == tuple(sorted(catchable(Call.SEND_OFFSETS)))
    assert {"CommitFailedException", "TimeoutException"} <= set(catchable(Call.SEND_OFFSETS))
    assert "ProducerFencedException" not in {name for call in Call for name in catchable(call)}
    assert not catchable(Call.BEGIN_TRANSACTION)


SLOW = """
    producer.init_transactions()
    records = consumer.poll()
    producer.begin_transaction()
    try:
        producer.send(output(records))
        producer.send_offsets_to_transaction(offsets(records), consumer.group_metadata())
        producer.commit_transaction()
    except {}:
        producer.abort_transaction()
"""


def after_a_time_out(caught: str) -> Application:
    """Return the process of SLOW after max.block.ms is over for its sendOffsetsToTransaction()."""
    program = read(SLOW.format(caught))
    spec = small_spec("group", program=program, budget=FaultBudget(max_block=1), max_records=1)
    cluster = Cluster(spec, "kafka")
    while (app := cluster.world.applications["app-1"]).line < 4 or not app.waiting:
        step = Step("app-1")
        able = cluster.why_not(step) is None
        cluster.take(step if able else next_by_itself(cluster.model, cluster.world))
    return cluster.take(TimeOutCall("app-1")).world.applications["app-1"]


def test_an_except_takes_the_classes_that_it_names_and_no_other_one() -> None:
    for caught in (
        "TimeoutException",
        "KafkaException",
        "(CommitFailedException, TimeoutException)",
    ):
        app = after_a_time_out(caught)
        assert (app.ended, app.program[app.line].call) == ("", Call.ABORT_TRANSACTION)
    ended = (
        "sendOffsetsToTransaction() threw TimeoutException: sendOffsetsToTransaction() took longer"
    )
    assert after_a_time_out("CommitFailedException").ended.startswith(ended)


@pytest.mark.parametrize(
    ("raised", "waiting", "says"),
    [
        (CallTimedOut("commitTransaction"), True, "TimeoutException"),
        (request_error(TxnOffsetCommit, Errors.ILLEGAL_GENERATION), True, "CommitFailedException"),
        (request_error(TxnOffsetCommit, Errors.ILLEGAL_GENERATION), False, "KafkaException"),
        (request_error(EndTxn, Errors.PRODUCER_FENCED), True, "ProducerFencedException"),
        (request_error(EndTxn, Errors.NOT_COORDINATOR), True, "NotCoordinatorException"),
    ],
)
def test_only_the_call_that_waited_throws_the_exception_itself(raised, waiting, says) -> None:
    app = after_a_time_out("KafkaException")
    line = app.program[4]
    manager = app.producer.manager.but(state=ProducerState.ABORTABLE_ERROR)
    failed = app.producer.but(manager=manager)
    app = app.but(waiting=waiting).with_client(failed)
    assert class_thrown(app, line, raised) == says


def test_only_a_producer_without_transactions_can_flush() -> None:
    spec = small_spec("group", program=(Line("producer.flush();", Call.FLUSH),))
    with pytest.raises(
        BadSpec, match=r"app-1: flush\(\) is for a producer without a transactional"
    ):
        check(spec)


# -- in a story --------------------------------------------------------------------------------

TEXT = """
---
name: mine
clause: our own service
designs: [kafka]
lanes: [app-1, B1, B3, B4]
simplified: [protocol, auto_offset_reset, replication]
cluster: regular-group
records:
  src-0 from 100: [a]
applications:
  app-1:
    like: group-member
    program: app-1
    max_records: 1
---

# A client that copies records

the program reads a record from src and writes it to output-A in a transaction.

```program app-1
producer.init_transactions()

while True:
    records = consumer.poll()
    try:
        producer.begin_transaction()
        for record in records:
            producer.send(transform(record))
        producer.send_offsets_to_transaction(offsets(records), consumer.group_metadata())
        producer.commit_transaction()
    except KafkaException:
        producer.abort_transaction()  # and poll again
```

## It copies a record

The output and the offset are in one transaction.

```steps
app-1 goes on
quiet
app-1 goes on
app-1 goes on
quiet
app-1 goes on
app-1 goes on
app-1 goes on
app-1 goes on
quiet
app-1 goes on
app-1 goes on
quiet
app-1 goes on
```
"""


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(library, "_brought", {})


def lit_line(run, step: int) -> str:
    rows = [row for row in run.payload["rows"] if row["card"] == "program:app-1"]
    here = [r for r in rows if r["from"] <= step and (r["to"] is None or step < r["to"])]
    shown = [row["cells"]["text"] for row in sorted(here, key=lambda row: row["cells"]["line"])]
    assert shown == TEXT.partition("```program app-1\n")[2].partition("\n```")[0].split("\n")
    (at,) = [row["cells"]["text"].strip() for row in here if row["cells"]["current"]]
    return at


def test_the_page_shows_the_readers_own_lines_and_lights_the_one_that_the_client_is_in() -> None:
    mine = story(TEXT)
    run, trace = kipviz.open(mine), runs.play(mine, "kafka").trace
    steps = range(run.last_step + 1)
    order = list(dict.fromkeys(lit_line(run, step) for step in steps))
    assert order == [
        "producer.init_transactions()",
        "records = consumer.poll()",
        "producer.begin_transaction()",
        "producer.send(transform(record))",
        "producer.send_offsets_to_transaction(offsets(records), consumer.group_metadata())",
        "producer.commit_transaction()",
    ]
    for step in steps:
        app = trace.node(trace.line[step]).world.applications["app-1"]
        assert lit_line(run, step) == app.program[app.line].text.strip()
    assert lit_line(run, run.last_step) == "records = consumer.poll()"


def test_a_step_says_which_line_of_the_readers_it_looks_at() -> None:
    run = kipviz.open(story(TEXT))
    looked = [
        guard for step in run.payload["steps"] for guard in step.get("why", {}).get("guards", ())
    ]
    assert ["line", "4 of 12: records = consumer.poll()"] in [list(each) for each in looked]


def test_such_a_story_is_written_as_it_was_read_and_its_links_carry_the_program() -> None:
    assert write_story(read_story(TEXT.lstrip())) == TEXT.lstrip()
    link = kipviz.permalink(kipviz.open(story(TEXT)))
    library._brought.clear()
    again = kipviz.open(link)
    assert lit_line(again, 0) == "producer.init_transactions()"


def test_a_file_of_it_is_played_from_the_command_line(tmp_path: Path, capsys) -> None:
    path = tmp_path / "mine.md"
    path.write_text(TEXT.lstrip(), encoding="utf-8")
    assert main(["play", str(path)]) == 0
    assert "sendOffsetsToTransaction() returns to app-1." in capsys.readouterr().out
    path.write_text(TEXT.lstrip().replace("except KafkaException", "except Exception"), "utf-8")
    assert main(["play", str(path)]) == 2
    assert (
        f"{path}:32: 'except Exception' catches exceptions that are not" in capsys.readouterr().err
    )


def test_a_misspelt_step_says_at_which_line_of_the_readers_the_process_stands() -> None:
    with pytest.raises(BadStory, match=r"app-1 is at line 1: producer.init_transactions\(\)"):
        story(TEXT.replace("```steps\napp-1 goes on", "```steps\napp-1 goes of"))


def test_the_consumer_has_the_name_of_its_kind_of_group() -> None:
    with pytest.raises(BadStory) as told:
        read_story(TEXT.lstrip().replace(" consumer.poll()", " share_consumer.poll()"), "mine.md")
    says = (
        "mine.md:25: app-1 is in a regular group: its consumer is 'consumer', not 'share_consumer'"
    )
    assert str(told.value) == says


def test_its_search_visits_the_same_states_as_that_of_the_program_of_the_package() -> None:
    named = TEXT.replace("program: app-1", "program: group-loop").replace("name: mine", "name: own")
    start, end = named.index("```program"), named.index("## It copies")
    named = named[:start] + named[end:]
    found = [
        kipviz.explore(story(text), "kafka", "crash_client=1", states_max=400).explored
        for text in (TEXT, named)
    ]
    assert found[0].states == found[1].states
    assert found[0].sentence == found[1].sentence
