"""`kipviz log --accept`: could the model have given the answers that a broker gave?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kipviz.command.arguments import names
from kipviz.command.output import answer
from kipviz.command.refused import Refused


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument(
        "--accept",
        action="store_true",
        help="say whether the model could have given the broker's answers; FOLDER is a recording, or "
        "a broker's folder of logs with --requests",
    )
    parser.add_argument(
        "--requests",
        metavar="FILE",
        help="with --accept: what the broker's logger kafka.request.logger wrote at DEBUG",
    )
    parser.add_argument(
        "--utc-offset",
        default="+00:00",
        metavar="+HH:MM",
        help="with --requests: how far the broker's clock time is from UTC",
    )
    parser.add_argument(
        "--settings",
        type=names,
        default=(),
        metavar="NAME=VALUE[,…]",
        help="with --requests: settings of the broker that are not Kafka's defaults",
    )


def run(arguments: argparse.Namespace, folder: Path) -> int:
    """Print what was accepted, and each answer that the model could not have given.

    Raises:
        Refused: if the logs or the requests cannot be read.
    """
    from kipviz.recordings.accept import NOT_ASKED, accept
    from kipviz.recordings.recording_error import RecordingError

    try:
        evidence = _evidence(arguments, folder)
        asked = accept(evidence)
    except (RecordingError, ValueError) as wrong:
        raise Refused(str(wrong)) from None
    refused = [each for each in asked if not each.accepted]
    spoken = {each.number for each in asked}
    left = Counter(x.api for n, x in enumerate(evidence.exchanges) if n not in spoken)
    counts = Counter(each.api for each in asked)
    document = {
        "requests": len(evidence.exchanges),
        "answers": len(asked),
        "accepted": len(asked) - len(refused),
        "refused": [_told(each) for each in refused],
        "asked": dict(sorted(counts.items())),
        "not_asked": {api: NOT_ASKED.get(api, OTHER) for api in sorted(left)},
    }
    lines = list(_lines(document, counts, left))
    answer(document, lines, as_json=arguments.json)
    return int(bool(refused))


# Why an exchange of an API that can be asked was not.
OTHER = "nothing in it is asked: another broker leads what it is about, or it names no transaction"


def _evidence(arguments: argparse.Namespace, folder: Path) -> Any:
    from kipviz.recordings import evidence
    from kipviz.recordings.recorded import ABOUT

    if (folder / ABOUT).exists():
        return evidence.of_recording(folder)
    if arguments.requests is None:
        raise Refused(
            f"{folder} is no recording, so the requests are needed, too: name the broker's request "
            "log with --requests (its logger kafka.request.logger at DEBUG writes it)"
        )
    return evidence.of_broker(
        folder,
        Path(arguments.requests),
        topics=arguments.topics,
        utc_offset=arguments.utc_offset,
        settings=dict(_setting(each) for each in arguments.settings),
    )


def _setting(text: str) -> tuple[str, str]:
    from kipviz.brokers.settings import BrokerSettings
    from kipviz.scenarios.changes import KAFKA_NAMES

    name, equals, value = text.partition("=")
    fields = BrokerSettings.__struct_fields__
    known = [kafka for kafka, ours in KAFKA_NAMES.items() if ours in fields]
    if not equals or name not in known:
        raise Refused(f"a setting is NAME=VALUE with one of {', '.join(known)}; not {text!r}")
    if value not in ("true", "false") and not value.isdecimal():
        raise Refused(f"{name} is true, false or a whole number, not {value!r}")
    return name, value


def _told(asked: Any) -> dict[str, Any]:
    from kipviz.recordings.questions import sayings

    return {
        "request": asked.number,
        "api": asked.api,
        "about": asked.about,
        "said": sayings(asked.recorded),
        "possible": [sayings(said) for said in asked.possible],
    }


def _lines(document: dict[str, Any], counts: Counter[str], left: Counter[str]) -> Iterator[str]:
    answers, accepted = document["answers"], document["accepted"]
    all_of_them = "all of them" if accepted == answers else f"{accepted} of them"
    yield (
        f"{document['requests']} requests, {answers} answers that can be asked for: "
        f"the model could have given {all_of_them}."
    )
    for api, count in sorted(counts.items()):
        yield f"  {count:>5}  {api}"
    for told in document["refused"]:
        yield ""
        yield f"request {told['request']}, {told['api']}, {told['about']}"
        yield f"  the broker: {told['said']}"
        yield from (f"  the model:  {said}" for said in told["possible"] or ["no answer yet"])
    if left:
        yield ""
        yield "not asked:"
        yield from (f"  {n:>5}  {a}: {document['not_asked'][a]}" for a, n in sorted(left.items()))
