"""Makes the corpus again: `python -m tests.fuzz.corpus`. The README beside this says what each file is.

What was recorded of real brokers is cut from tests/recordings and tests/messages; runs, links and stories
are saved by kipviz itself. The fuzz targets only read what lies in the folder, so an input of a seed stays the
same until the corpus is made again.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from kipviz.checking.search import saved_search
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import permalink
from kipviz.core.serialization import serialize
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario, searched_scenario
from kipviz.widgets.lab import open_run, save

PLACE = Path(__file__).parent / "corpus"
TESTS = Path(__file__).parents[1]
RECORDED = TESTS / "recordings" / "kafka-4.4.0"
DOCUMENTS = TESTS.parent / "kipviz" / "scenarios" / "stories"
MESSAGES = TESTS / "messages" / "kafka-4.4.0" / "bytes.jsonl"

MESSAGES_EVERY = 13
LOG_SIZE_MAX = 2_500
LOGS_OF_A_TOPIC = 2
FOLDER = "share-implicit"
REQUESTS_OF_AN_API = 2
REQUEST_SIZE_MAX = 3_000
STORIES = ("pain-vanished", "kip-1310-produce-session", "kip-98-idempotent-retry")
SPECS = ("kip-1289-small", "kip-890-small", "kip-1310-produce-session", "pain-refused-at-start")


def wire() -> None:
    """Every so-manieth message that Kafka's own client library wrote down, with its name and version."""
    lines = MESSAGES.read_text(encoding="utf-8").splitlines()[::MESSAGES_EVERY]
    told = (json.loads(line) for line in lines)
    short = [{name: one[name] for name in ("message", "version", "bytes")} for one in told]
    _lines("wire.jsonl", [one for one in short if len(one["bytes"]) < 1_200])


def segments() -> None:
    """The smallest segments of every topic of the recordings, and one of every compression."""
    found: dict[str, list[Path]] = {}
    for path in sorted(RECORDED.glob("*/*/*.log"), key=lambda each: (each.stat().st_size, each)):
        topic = path.parent.name.rpartition("-")[0]
        topic = topic if topic.startswith("__") else path.parent.parent.name
        small = 60 < path.stat().st_size < LOG_SIZE_MAX
        if topic == "compressed" or (small and (topic.startswith("__") or topic == FOLDER)):
            found.setdefault(topic, []).append(path)
    kept_logs = [
        {"topic": path.parent.name.rpartition("-")[0], "bytes": path.read_bytes().hex()}
        for topic in found
        for path in found[topic][-LOGS_OF_A_TOPIC if topic.startswith("__") else None :][:4]
    ]
    _lines("segments.jsonl", kept_logs)


def requests() -> None:
    """Some requests of every API in the recordings, as the broker's request logger writes them."""
    seen: dict[str, int] = {}
    found = []
    for path in sorted(RECORDED.glob("*/wire.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            if len(line) > REQUEST_SIZE_MAX or seen.get(told["api"], 0) >= REQUESTS_OF_AN_API:
                continue
            seen[told["api"]] = seen.get(told["api"], 0) + 1
            found.append(request_line(told))
    (PLACE / "requests.log").write_text("".join(found), encoding="utf-8")


def request_line(told: dict[str, object]) -> str:
    """Give a line of a recording as a line of a request log."""
    answered, received = int(str(told["answered"])), int(str(told["received"]))
    header = {
        "requestApiKeyName": told["api"],
        "requestApiVersion": told["version"],
        "clientId": told["client"],
    }
    said = {
        "requestHeader": header,
        "request": told["request"],
        "response": told["response"],
        "totalTimeMs": float(answered - received),
    }
    at = datetime.fromtimestamp(answered / 1_000, tz=UTC)
    when = f"{at:%Y-%m-%d %H:%M:%S},{answered % 1_000:03}"
    return f"[{when}] DEBUG Completed request:{json.dumps(said)} (kafka.request.logger)\n"


def saved_runs() -> None:
    """Three saved runs: a story, one with branches and names, and one made again with a setting."""
    for number, name in enumerate(STORIES):
        stepper = open_run(name)
        stepper.step = 10
        if number:
            stepper.run_on(seed=number, steps=4, faults="hostile").name("a line of one's own")
        if number == 2:
            stepper.branch, stepper.step = 0, 6
            stepper.change("delivery_count_limit=2", "expire_lock=1")
        save(stepper, PLACE / f"{name}.trace")


def links() -> None:
    """Permalinks of the same runs and of a seeded one; first_links.txt has them in the first format."""
    from kipviz.checking.single_run.seeded_run import Task

    made = [permalink(runs.play(name)) for name in STORIES]
    made.append(permalink(runs.replay(Task("kip-1289-small", "repaired", "hostile", 5, 40))))
    (PLACE / "links.txt").write_text("\n".join(made) + "\n", encoding="ascii")


def stories() -> None:
    """Whole scenarios and the specs of some, as JSON, with changes of settings."""
    for name in STORIES[:2]:
        _json(f"{name}.story.json", msgspec.to_builtins(scenario(name)))
        (story,) = DOCUMENTS.glob(f"*/{name}.md")
        (PLACE / f"{name}.story.md").write_bytes(story.read_bytes())
    changes = ["delivery_count_limit=2", "app-1.max_records=2", "clock=timed", "crash_broker=1"]
    changes += ["share.record.lock.duration.ms=30000", "splits=B1 | *", "eviction=allowed"]
    for name in SPECS:
        spec = msgspec.to_builtins(scenario(name).spec)
        _json(f"{name}.spec.json", {"spec": spec, "changes": changes})


def searches() -> None:
    """An unfinished search, and a world as bytes."""
    story = searched_scenario("kip-890-small")
    search = Search(story.model(design(story.designs[0])))
    search.run(Bounds(states_max=60))
    saved_search.save(search, PLACE / "kip-890-small.search")
    world = runs.play(STORIES[0]).trace.last().world
    (PLACE / "world.value").write_bytes(serialize(world))


def answers() -> None:
    """What a served cluster answers to one look: open transactions, offsets that are not stable, a share group."""
    from kipviz.clients.operators.operator_commands import SERVERS
    from kipviz.messages.wire.codec import Struct, encode
    from kipviz.messages.wire.question import RequestFormat
    from kipviz.serving.serve import Server
    from kipviz.watching.cluster_query import look
    from tests.watching.wire import attach, busy

    found: dict[str, dict[str, object]] = {}
    with Server(design_name="kafka-tv1") as served, attach(served) as (ask, wire):
        busy(served, ask, wire)

        def note_answer(broker: int, question: RequestFormat, values: Struct) -> Struct:
            told = ask(broker, question, values)
            version = question.versions[1]
            data = encode(question.response, version, told).data.hex()
            row = {"message": question.response.name, "version": version, "bytes": data}
            found.setdefault(data, row)
            return told

        look(note_answer, lambda: 1_800_000_000_000, SERVERS)
    _lines("answers.jsonl", list(found.values()))


def _lines(name: str, rows: list[dict[str, object]]) -> None:
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (PLACE / name).write_text(text, encoding="utf-8")


def _json(name: str, document: object) -> None:
    (PLACE / name).write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    """Make every file of the corpus that a program makes."""
    PLACE.mkdir(exist_ok=True)
    for make in (wire, segments, requests, saved_runs, links, stories, searches, answers):
        make()


if __name__ == "__main__":
    main()
