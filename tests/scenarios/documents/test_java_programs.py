"""Programs in Java's spelling: the same as in Python's, the KIP's loop as it stands, and what is refused."""

from __future__ import annotations

from textwrap import dedent

import pytest

import kipviz
from kipviz.clients.application import Line
from kipviz.clients.program_source import source_of
from kipviz.scenarios.documents import java_syntax
from kipviz.scenarios.documents.bad_story import BadStory, Wrong
from kipviz.scenarios.documents.java_syntax import camel, in_java, is_java, snake
from kipviz.scenarios.documents.programs_in_text import write_program
from kipviz.scenarios.documents.python_program import is_python, read_python
from kipviz.scenarios.documents.read import read_story
from kipviz.scenarios.documents.write import write_story
from tests.scenarios.documents.test_python_programs import GROUP_LOOP, SHARE_LOOP

# The loop of KIP-1289's text, with the collection that it leaves out.
KIP_1289 = dedent("""\
    producer.initTransactions();
    while (true) {
        ConsumerRecords<String, String> records = shareConsumer.poll(Duration.ofSeconds(5));
        if (records.isEmpty()) continue;
        try {
            producer.beginTransaction();
            /* what is staged, by offset */
            AcknowledgementBatches acks = new AcknowledgementBatches();
            for (ConsumerRecord<String, String> record : records) {
                producer.send(new ProducerRecord<>("destination-topic", process(record)));
                acks.add(record.offset(), AcknowledgeType.ACCEPT);
            }
            producer.sendShareAcknowledgementsToTransaction(
                toBatches(acks), shareConsumer.shareGroupMetadata());
            producer.commitTransaction(); // BLOCKS
        } catch (ProducerFencedException | UnsupportedVersionException fatal) {
            throw fatal;
        } catch (final KafkaException abortable) {
            producer.abortTransaction();
        }
    }
""")
GROUP = dedent("""\
    producer.initTransactions();
    while (true) {
        var records = consumer.poll(Duration.ofMillis(100));
        try {
            producer.beginTransaction();
            for (record : records)
                producer.send(transform(record));
            producer.sendOffsetsToTransaction(offsets(records), consumer.groupMetadata());
            producer.commitTransaction();
        } catch (KafkaException e) {
            producer.abortTransaction();
        }
    }
""")


def read(text: str) -> tuple[Line, ...]:
    return read_python(list(enumerate(dedent(text).splitlines(), 1)), 1).program


def bare(program: tuple[Line, ...]) -> tuple[Line, ...]:
    return tuple(line.but(text="", above=(), below=()) for line in program)


def test_a_loop_in_java_is_the_same_program_as_in_python():
    assert bare(read(GROUP)) == bare(read(GROUP_LOOP))


def test_the_loop_of_the_kip_is_read_as_it_stands_and_shown_line_by_line():
    program = read(KIP_1289)
    ours = bare(read(SHARE_LOOP))
    assert [line.call for line in program] == [line.call for line in ours]
    assert [line.verdicts for line in program] == [line.verdicts for line in ours]
    assert program[-1].rethrows == ("ProducerFencedException", "UnsupportedVersionException")
    assert [each.text for each in source_of(program)] == KIP_1289.splitlines()
    assert is_python(program)
    assert list(write_program(program)) == KIP_1289.splitlines()


def test_a_story_with_a_program_in_java_is_played_and_written_again():
    text = write_story(read_story(STORY.replace("PROGRAM", KIP_1289), "mine.md"))
    assert (
        read_story(text, "mine.md").scenario
        == read_story(STORY.replace("PROGRAM", KIP_1289), "mine.md").scenario
    )
    stepper = kipviz.open(kipviz.story(text))
    assert stepper.last_step > 3


STORY = """---
name: mine-in-java
order: 1
clause: KIP-1289, Pseudo code
designs: [repaired]
lanes: [app-1, B1, B5]
profile: small
cluster: share-group
applications:
  app-1:
    like: share-member
    program: loop
---

# The loop of the KIP

A member runs the loop as the KIP has it.

```program loop
PROGRAM```

## It begins

The producer gets its identity.

- Watch: the line that is lit
- Watch: InitProducerId

```steps
app-1 goes on
quiet
app-1 goes on
```

## Checkpoints

- saw the last stable offset held back: `lso held back`
- saw it again: `lso held back`
"""


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("producer.beginTransction();", 1, "'beginTransaction'"),
        ("producr.send(x);", 1, "producer"),
        (
            "producer.initTransactions();\nif (x) { producer.flush(); }",
            2,
            "'if' is not in a program",
        ),
        ("while (running) { producer.flush(); }", 1, "write 'while (true) {'"),
        ("producer.beginTransaction()\nproducer.flush();", 2, "';' is missing before 'producer'"),
        ("try { producer.flush(); }", 1, "a 'try' has a 'catch'"),
        (
            "try { producer.flush(); } catch (Exception e) { producer.flush(); }",
            1,
            "'catch Exception'",
        ),
        ("try (x = y()) { producer.flush(); }", 1, "'try (…)' is not in a program"),
        ("throw new KafkaException();", 1, "'throw new' is not in a program"),
        ("records = consumer.poll(1);\nproducer.send(a + b);", 2, "'+' is not in a program"),
        (
            "records = consumer.poll(1);\nrecords.forEach(r -> producer.send(r));",
            2,
            "'->' is not in a program",
        ),
        ("for (int i = 0; i < 3; i++) { producer.flush(); }", 1, "for (record : records)"),
        ("return;", 1, "'return' is not in a program"),
        ('producer.send("open);', 1, "this is not Java"),
        ("while (true) {\nproducer.flush();", 2, "the program ends too early"),
        ("Map<String, (x)> y = new HashMap<>();\n", 1, "'(' is not part of a type"),
        ("acks.add(1, AcknowledgeType.ACCEPT);", 1, "client"),
        (
            "Acks acks = new Acks();\nacks.add(5, AcknowledgeType.ACCEPT);",
            2,
            "takes record.offset()",
        ),
        (";", 1, "a program calls a client at least once"),
        ("{" * 500 + ";", 1, "nested too deeply"),
        ("f(" * 500 + ";", 1, "nested too deeply"),
        ("!" * 9_000 + "x;", 1, "nested too deeply"),
    ],
)
def test_what_no_program_in_java_is_names_its_line_and_what_is_possible(text, line, said):
    with pytest.raises(Wrong) as told:
        read(text)
    assert said in told.value.what
    assert told.value.line == line
    assert "\n" not in told.value.what


def test_a_mistake_in_a_storys_program_is_told_with_the_files_line():
    bad = STORY.replace("PROGRAM", KIP_1289.replace("commitTransaction", "comitTransaction"))
    with pytest.raises(
        BadStory, match=r"mine\.md:34: unknown call of producer 'comitTransaction'\. Did you mean"
    ):
        read_story(bad, "mine.md")


def test_names_are_spelt_as_each_language_spells_them():
    assert snake("sendOffsetsToTransaction") == "send_offsets_to_transaction"
    assert snake("AcknowledgeType") == "AcknowledgeType"
    assert camel("share_consumer") == "shareConsumer"
    assert in_java("'except' under share_consumer.poll(), my_own and my_name", ["myName"]) == (
        "'catch' under shareConsumer.poll(), my_own and myName"
    )
    assert is_java(["x", "producer.flush(); // sends"])
    assert is_java(["} catch (KafkaException e) {"])
    assert not is_java(["producer.flush()  # ; no Java"])
    assert java_syntax.POSSIBLE.startswith("calls of the clients")
