"""Targets that read what comes from elsewhere: hand-ins, programs, properties files, answers of a watched cluster."""

from __future__ import annotations

import json
import random
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from kipviz.core.outside.printable import escape_line
from kipviz.course.hand_in import PREFIX, HandIn, LabClaim, read_folder, write
from kipviz.course.lab import labs
from kipviz.messages.wire.codec import Struct, WireError, decode, encode
from kipviz.messages.wire.question import RequestFormat
from kipviz.scenarios.documents.bad_story import Wrong
from kipviz.scenarios.documents.python_program import read_python
from kipviz.watching.admin_queries import NoAnswer
from kipviz.watching.cluster_query import look
from kipviz.watching.properties_file import BadProperties, client_config
from kipviz.watching.report import document, lines
from tests.fuzz.corpus import PLACE
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import ODD, as_json, of_bytes, of_json
from tests.fuzz.of_logs import SCHEMAS

NOW_MS = 1_800_000_000_000


# -- hand-ins --------------------------------------------------------------------------------------


@cache
def _hand_in() -> dict[str, Any]:
    links = (PLACE / "links.txt").read_text(encoding="ascii").split()
    entries = tuple(LabClaim(lab.name, 1, link) for lab, link in zip(labs(), links, strict=False))
    line = write(HandIn("Kim", 8, 5, entries))
    found: dict[str, Any] = json.loads(zlib.decompress(_decode_base64(line.split(".")[1])))
    return found


def _decode_base64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _mail(dice: random.Random) -> bytes:
    """Give a mail with a hand-in that says something else, three times in four with a checksum that fits."""
    data = as_json(of_json(_hand_in(), dice))
    text = urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")
    line = f"{PREFIX}.{text}.{zlib.crc32(data):08x}".encode()
    wrapped = b"\n> ".join(line[at : at + 70] for at in range(0, len(line), 70))
    made = dice.choice((line, b"Hello,\n> " + wrapped + b"\nBest, Kim\n"))
    return made if dice.randrange(4) else of_bytes([made], dice)


def _read_mail(data: bytes, folder: Path) -> object:
    (folder / "mail.txt").write_bytes(data)
    return [escape_line(str(row)) for row in read_folder(str(folder))]


# -- programs of stories ---------------------------------------------------------------------------

PROGRAM = b"""producer.init_transactions()
while True:
    records = consumer.poll()
    try:
        producer.begin_transaction()
        for record in records:
            producer.send(transform(record))
        producer.send_offsets_to_transaction(offsets(records), consumer.group_metadata())
        producer.commit_transaction()
    except ProducerFencedException:
        raise
    except KafkaException:
        producer.abort_transaction()
"""
WORDS = (
    b"(",
    b"[",
    b"- ",
    b"not ",
    b"lambda: ",
    b"a.",
    b"f(",
    b"{",
    b"*",
    b"await ",
    b"x if y else ",
)
STATEMENTS = (
    b"import os\n",
    b"break\n",
    b"continue\n",
    b"pass\n",
    b"def f(): pass\n",
    b"eval('1')\n",
)


def _program(dice: random.Random) -> bytes:
    made = bytearray(PROGRAM)
    at = dice.randrange(len(made))
    match dice.randrange(4):
        case 0:
            made[at:at] = dice.choice(WORDS) * dice.choice((1, 30, 900, 9_000))
        case 1:
            rows = bytes(made).splitlines(keepends=True)
            row = dice.randrange(len(rows))
            indent = rows[row][: len(rows[row]) - len(rows[row].lstrip())]
            rows[row:row] = [indent + dice.choice((*STATEMENTS, *rows)).lstrip()]
            made = bytearray(b"".join(rows))
        case _:
            return of_bytes([bytes(made)], dice)
    return bytes(made)


def _read_program(data: bytes, _: Path) -> object:
    texts = data.decode("utf-8", "surrogateescape").split("\n")
    try:
        return read_python(list(enumerate(texts, 1)), 1)
    except Wrong as wrong:
        raise Wrong(wrong.line, wrong.what) from None


# -- how Kafka's tools connect ---------------------------------------------------------------------

PROPERTIES = b"""# how the tools connect
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="kim" password="a \\"word\\"";
ssl.truststore.location=/etc/ca.pem
ssl.truststore.type=PEM
request.timeout.ms=1000
"""


def _properties(dice: random.Random) -> bytes:
    return of_bytes([PROPERTIES], dice)


def _read_properties(data: bytes, _: Path) -> object:
    try:
        return client_config(data.decode("utf-8", "replace"))
    except BadProperties as wrong:
        raise BadProperties(escape_line(str(wrong))) from None  # as the command prints it


# -- what brokers answer ---------------------------------------------------------------------------


@cache
def _answers() -> list[dict[str, Any]]:
    text = (PLACE / "answers.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _cluster(dice: random.Random) -> bytes:
    """Change one to three answers of a look: other values in the fields, or other bytes."""
    answers = [dict(each) for each in _answers()]
    for _ in range(dice.choice((1, 1, 2, 3))):
        each = dice.choice(answers)
        data = bytes.fromhex(each["bytes"])
        each["bytes"] = (_other_values(each, data, dice) or of_bytes([data], dice)).hex()
    return as_json(answers)


def _other_values(answer: dict[str, Any], data: bytes, dice: random.Random) -> bytes:
    """Give an answer that is well formed and says something else, b"" if what was drawn fits no field."""
    schema, version = SCHEMAS[answer["message"]], answer["version"]
    try:
        told, _ = decode(schema, version, data)
        places = list(_places(told))
        for holder, name in dice.sample(places, min(2, len(places))):
            other, there = dice.choice(places)
            holder[name] = dice.choice((*ODD, other[there], holder[name], (), (holder[name],) * 2))
        return encode(schema, version, told).data
    except (WireError, TypeError, ValueError, AttributeError, OverflowError):
        return b""


def _places(told: Any) -> list[tuple[dict[str, Any], str]]:
    found: list[tuple[dict[str, Any], str]] = []
    for name, value in told.items():
        found.append((told, name))
        for each in value if isinstance(value, tuple | list) else (value,):
            if isinstance(each, dict):
                found += _places(each)
    return found


def _read_cluster(data: bytes, _: Path) -> object:
    answers = json.loads(data)
    asked = count()

    def ask(_: int, question: RequestFormat, __: Struct) -> Struct:
        mine = [each for each in answers if each["message"] == question.response.name]
        if not mine or next(asked) > 200:
            raise NoAnswer("no answer within 10 s")
        each = mine.pop(0)
        answers.append(answers.pop(answers.index(each)))  # the next question gets the next one
        try:
            return question.body_of(each["version"], bytes.fromhex(each["bytes"]))
        except WireError as wrong:
            raise NoAnswer(f"its answer cannot be used: {wrong}") from None

    found = look(ask, lambda: NOW_MS)
    return [*map(escape_line, lines(found)), json.dumps(document(found))]


TARGETS = (
    Target("hand-ins", "a learner's mail", _mail, _read_mail, (), 60),
    Target("programs", "a story's program in Python", _program, _read_program, (Wrong,), 400),
    Target(
        "properties", "a properties file", _properties, _read_properties, (BadProperties,), 1_000
    ),
    Target("answers", "what a watched cluster answers", _cluster, _read_cluster, (NoAnswer,), 150),
)
