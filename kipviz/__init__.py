"""kipviz: a step-able, searchable simulation of Kafka's transaction and share-group protocol.

What a notebook needs, each in one call:

    kipviz.list_scenarios(), kipviz.list_designs()         what there is
    kipviz.open("kip-1289-share-commit")                   step it, crash it, branch it
    kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D")
    kipviz.compare("kip-1289-lock-expiry", "repaired", "as-written", "finding-D")    three and more, in columns
    kipviz.costs("kip-1310-share-producer", "kip-1310-share-session")
    kipviz.open(kipviz.story("my-story.md"))               your own story, a Markdown document
    kipviz.propose("mine", kipviz.design("repaired"), marker_epoch=my_function)    your own rule in a slot
    kipviz.two_views("kip-1289-share-commit")              the client's view beside the brokers'
    kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1")
    kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1").saves()
    kipviz.outcomes("kip-1289-small", "repaired"), kipviz.ablate()
    kipviz.landscape(), kipviz.landscape(work_ms=40_000).run().map()
    kipviz.findings("A", "X1"), kipviz.findings(kip=1310), kipviz.corners(["repaired"])
    kipviz.study("cost", kipviz.Latencies(fsync_ms=5))     what the designs cost, and how long they take
    kipviz.study("B8"), kipviz.verdicts("kip-1289-small", ["repaired", "finding-I"])
    kipviz.campaign("kip-1289-two-members", ["repaired", "finding-D"], "rough", runs=200)
    kipviz.open_seeded("kip-1289-two-members", "finding-D", "rough", 17)
    kipviz.save(stepper, "run.trace"), kipviz.open_trace("run.trace")
    kipviz.rebuild("/var/kafka-logs", ["orders"])          a broker's own logs, batch by batch
    kipviz.accept("/var/kafka-logs", "kafka-request.log")  could the model have said what the broker said?
    kipviz.serve().bootstrap_servers                        real clients in the simulated cluster, on loopback
    kipviz.lab("deliver-twice")                            an exercise that is judged on your own run
    kipviz.open(kipviz.permalink(stepper))                 this very step, as one line of text

Importing the package loads none of this, so that every floor can be imported alone; each name is
brought when it is used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = [
    "Cluster",
    "Desk",
    "Latencies",
    "__version__",
    "ablate",
    "accept",
    "campaign",
    "compare",
    "corners",
    "costs",
    "design",
    "explore",
    "findings",
    "hand_in",
    "lab",
    "landscape",
    "list_designs",
    "list_scenarios",
    "open",
    "open_seeded",
    "open_trace",
    "outcomes",
    "permalink",
    "propose",
    "rebuild",
    "save",
    "saves",
    "serve",
    "story",
    "study",
    "two_views",
    "verdicts",
]

# By name, because an import here would tie the lowest floor to the highest one.
_HOMES = {
    "Cluster": ("kipviz.driving.cluster", "Cluster"),
    "Desk": ("kipviz.driving.desk", "Desk"),
    "Latencies": ("kipviz.checking.critical_path", "Latencies"),
    "accept": ("kipviz.recordings.report", "report"),
    "ablate": ("kipviz.widgets.outcomes", "ablate"),
    "outcomes": ("kipviz.widgets.outcomes", "outcomes"),
    "compare": ("kipviz.widgets.side_by_side", "compare"),
    "costs": ("kipviz.widgets.costs", "costs"),
    "corners": ("kipviz.widgets.kip_1289", "corners"),
    "design": ("kipviz.designs.proposals", "design"),
    "explore": ("kipviz.widgets.search", "search"),
    "findings": ("kipviz.widgets.kip_1289", "findings"),
    "hand_in": ("kipviz.widgets.exercise", "hand_in"),
    "lab": ("kipviz.widgets.exercise", "lab"),
    "landscape": ("kipviz.widgets.landscape", "landscape"),
    "list_designs": ("kipviz.views.listing", "designs"),
    "list_scenarios": ("kipviz.views.listing", "scenarios"),
    "open": ("kipviz.widgets.lab", "open_run"),
    "open_seeded": ("kipviz.widgets.lab", "open_seeded"),
    "open_trace": ("kipviz.widgets.lab", "open_trace"),
    "propose": ("kipviz.designs.proposals", "propose"),
    "rebuild": ("kipviz.widgets.rebuilt", "rebuild"),
    "permalink": ("kipviz.widgets.lab", "permalink"),
    "two_views": ("kipviz.widgets.side_by_side", "two_views"),
    "save": ("kipviz.widgets.lab", "save"),
    "saves": ("kipviz.widgets.decisions", "saves"),
    "serve": ("kipviz.serving.serve", "serve"),
    "story": ("kipviz.lessons.own_story", "story"),
    "study": ("kipviz.widgets.design_lab", "study"),
    "verdicts": ("kipviz.widgets.design_lab", "verdicts"),
}


def campaign(
    scenarios: Any,
    designs: Any,
    faults: Any = "calm",
    runs: int = 100,
    seed: int = 0,
    *,
    by: str = "design",
    **settings: Any,
) -> Any:
    """Open the panel of a campaign: seeded runs over scenarios x designs x fault profiles.

    Args:
        scenarios: one name or several.
        designs: one name or several.
        faults: fault profiles, one name or several.
        runs: seeds per combination.
        seed: the first seed.
        by: what a row of the table stands for: "design", "scenario" or "faults".
        settings: what else `kipviz.spark.campaign.Campaign` takes: `steps_max`, `way`, `spark`.

    Raises:
        ValueError: for a word that names nothing or a number that is none, in one sentence.
    """
    # The panel and the campaign are strangers on one floor; they meet here.
    view = _brought("campaign", "kipviz.widgets.campaign_view", "CampaignView")
    work = _brought("campaign", "kipviz.spark.campaign", "Campaign")
    return view(work(scenarios, designs, faults, runs, seed, **settings), by)


def _brought(name: str, module: str, there: str) -> Any:
    """Import what a name stands for; a part that is not installed is one sentence."""
    try:
        return getattr(import_module(module), there)
    except ModuleNotFoundError as error:
        parts = import_module("kipviz.core.missing_part")
        missing = parts.missing_part(f"kipviz.{name}", error)
        if missing is None:
            raise
        raise missing from None


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return _brought(name, *_HOMES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
