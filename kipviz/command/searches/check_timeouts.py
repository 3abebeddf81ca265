"""`kipviz check-timeouts`: do lock duration, transaction timeout, processing time and delivery limit fit together?"""

from __future__ import annotations

import argparse

from kipviz.checking.timed.time_limits import (
    DELIVERIES,
    LOCK,
    SCAN,
    TIMEOUT,
    Advice,
    BadLimits,
    Limits,
    advice,
)
from kipviz.command.arguments import add_json, count
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer
from kipviz.settings.model_settings import REFRESH_MS

HELP = "check lock duration, transaction timeout and batch work time against each other"
OPTIONS = {
    "lock": LOCK.name,
    "timeout": TIMEOUT.name,
    "work": "the longest time the application works on a batch, in ms",
    "scan": SCAN.name,
    "look_up": REFRESH_MS.says,
    "deliveries": DELIVERIES.name,
    "aborts": "how many consecutive aborts a record must survive",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an option for each setting; its default is Kafka's."""
    defaults = Limits()
    for name, help_ in OPTIONS.items():
        now = getattr(defaults, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=count, default=now, metavar="N", help=f"{help_} ({now})")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check every rule; the status is 1 if a necessary one is broken."""
    limits = Limits(**{name: getattr(arguments, name) for name in OPTIONS})
    try:
        told = advice(limits)
    except BadLimits as wrong:
        raise RefusedInput(str(wrong)) from None
    document = {
        "limits": {name: getattr(limits, name) for name in OPTIONS},
        "checks": [
            {"rule": a.rule, "right": a.right, "needed": a.needed, "says": a.says} for a in told
        ],
    }
    lines = [f"{_sign(a)} {a.rule}: {a.says}." for a in told]
    lines += ["", "`kipviz study timeouts` and `deliveries` compare the rules with searches."]
    answer(document, lines, as_json=arguments.json)
    return int(not all(a.right or not a.needed for a in told))


def _sign(told: Advice) -> str:
    if told.right:
        return "✓"
    return "✗" if told.needed else "○"
