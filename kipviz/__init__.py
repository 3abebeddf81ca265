"""kipviz: a step-able, searchable simulation of Kafka's transaction and share-group protocol.

What a notebook needs, each in one call:

    kipviz.list_scenarios(), kipviz.list_designs()         the catalogues, as tables to search
    kipviz.list_slots(), kipviz.list_faults(), kipviz.list_profiles()
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
    kipviz.repair("kip-1289-small", "as-written")          the smallest set of decisions that repairs a design
    kipviz.landscape(), kipviz.landscape(work_ms=40_000).run().map()
    kipviz.findings("A", "X1"), kipviz.findings(kip=1310), kipviz.corners(["repaired"])
    kipviz.study("cost", kipviz.Latencies(fsync_ms=5))     what the designs cost, and how long they take
    kipviz.study("B8"), kipviz.verdicts("kip-1289-small", ["repaired", "finding-I"])
    kipviz.campaign("kip-1289-two-members", ["repaired", "finding-D"], "rough", runs=200)
    kipviz.open_seeded("kip-1289-two-members", "finding-D", "rough", 17)
    kipviz.save(stepper, "run.trace"), kipviz.open_trace("run.trace")
    kipviz.rebuild("/var/kafka-logs", ["orders"])          a broker's own logs, batch by batch
    kipviz.accept("/var/kafka-logs", "kafka-request.log")  could the model have given the broker's answers?
    kipviz.serve().bootstrap_servers                        real clients in the simulated cluster, on loopback
    kipviz.lab("deliver-twice")                            an exercise that is judged on your own run
    kipviz.open(kipviz.permalink(stepper))                 this very step, as one line of text

Importing the package loads none of this, so that every floor can be imported alone. Each name is imported when it is
first used.
"""

from __future__ import annotations

import sys
from importlib import import_module

# Like typing.TYPE_CHECKING. Importing typing takes longer than everything else here, and until it is done an interrupt
# (^C) shows Python's own traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    # What an editor and mypy see. `_HOMES` lists the same names; a test compares the two.
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from pyspark.sql import SparkSession

    from kipviz.checking.timed.critical_path import Latencies as Latencies
    from kipviz.designs.proposals import design as design
    from kipviz.designs.proposals import propose as propose
    from kipviz.driving.cluster import Cluster as Cluster
    from kipviz.driving.desk import Desk as Desk
    from kipviz.lessons.own_story import story as story
    from kipviz.serving.serve import serve as serve
    from kipviz.serving.served_spec import cluster_of as cluster_of
    from kipviz.widgets.comparing.side_by_side import compare as compare
    from kipviz.widgets.comparing.side_by_side import two_views as two_views
    from kipviz.widgets.exercise import hand_in as hand_in
    from kipviz.widgets.exercise import lab as lab
    from kipviz.widgets.judged_logs import accept as accept
    from kipviz.widgets.lab import open_run as open  # noqa: A004  kipviz.open, as Path.open is
    from kipviz.widgets.lab import open_seeded as open_seeded
    from kipviz.widgets.lab import open_trace as open_trace
    from kipviz.widgets.lab import permalink as permalink
    from kipviz.widgets.lab import save as save
    from kipviz.widgets.rebuilt_logs import rebuild as rebuild
    from kipviz.widgets.results.campaign_view import CampaignView
    from kipviz.widgets.results.costs import costs as costs
    from kipviz.widgets.results.decisions import saves as saves
    from kipviz.widgets.results.design_lab import study as study
    from kipviz.widgets.results.design_lab import verdicts as verdicts
    from kipviz.widgets.results.kip_1289 import corners as corners
    from kipviz.widgets.results.kip_1289 import findings as findings
    from kipviz.widgets.results.landscape import landscape as landscape
    from kipviz.widgets.results.listings import designs as list_designs
    from kipviz.widgets.results.listings import faults as list_faults
    from kipviz.widgets.results.listings import profiles as list_profiles
    from kipviz.widgets.results.listings import scenarios as list_scenarios
    from kipviz.widgets.results.listings import slots as list_slots
    from kipviz.widgets.results.outcomes import ablate as ablate
    from kipviz.widgets.results.outcomes import outcomes as outcomes
    from kipviz.widgets.results.repair_table import repair as repair
    from kipviz.widgets.results.search import search as explore

__version__ = "0.1.0"

__all__ = [
    "Cluster",
    "Desk",
    "Latencies",
    "__version__",
    "ablate",
    "accept",
    "campaign",
    "cluster_of",
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
    "list_faults",
    "list_profiles",
    "list_scenarios",
    "list_slots",
    "open",
    "open_seeded",
    "open_trace",
    "outcomes",
    "permalink",
    "propose",
    "rebuild",
    "repair",
    "save",
    "saves",
    "serve",
    "story",
    "study",
    "two_views",
    "verdicts",
]

# As strings, because an import here would tie the lowest floor to the highest one.
_HOMES = {
    "Cluster": "kipviz.driving.cluster:Cluster",
    "Desk": "kipviz.driving.desk:Desk",
    "Latencies": "kipviz.checking.timed.critical_path:Latencies",
    "accept": "kipviz.widgets.judged_logs:accept",
    "ablate": "kipviz.widgets.results.outcomes:ablate",
    "outcomes": "kipviz.widgets.results.outcomes:outcomes",
    "compare": "kipviz.widgets.comparing.side_by_side:compare",
    "costs": "kipviz.widgets.results.costs:costs",
    "corners": "kipviz.widgets.results.kip_1289:corners",
    "design": "kipviz.designs.proposals:design",
    "explore": "kipviz.widgets.results.search:search",
    "findings": "kipviz.widgets.results.kip_1289:findings",
    "hand_in": "kipviz.widgets.exercise:hand_in",
    "lab": "kipviz.widgets.exercise:lab",
    "landscape": "kipviz.widgets.results.landscape:landscape",
    "list_designs": "kipviz.widgets.results.listings:designs",
    "list_faults": "kipviz.widgets.results.listings:faults",
    "list_profiles": "kipviz.widgets.results.listings:profiles",
    "list_scenarios": "kipviz.widgets.results.listings:scenarios",
    "list_slots": "kipviz.widgets.results.listings:slots",
    "open": "kipviz.widgets.lab:open_run",
    "open_seeded": "kipviz.widgets.lab:open_seeded",
    "open_trace": "kipviz.widgets.lab:open_trace",
    "propose": "kipviz.designs.proposals:propose",
    "rebuild": "kipviz.widgets.rebuilt_logs:rebuild",
    "repair": "kipviz.widgets.results.repair_table:repair",
    "permalink": "kipviz.widgets.lab:permalink",
    "two_views": "kipviz.widgets.comparing.side_by_side:two_views",
    "save": "kipviz.widgets.lab:save",
    "saves": "kipviz.widgets.results.decisions:saves",
    "cluster_of": "kipviz.serving.served_spec:cluster_of",
    "serve": "kipviz.serving.serve:serve",
    "story": "kipviz.lessons.own_story:story",
    "study": "kipviz.widgets.results.design_lab:study",
    "verdicts": "kipviz.widgets.results.design_lab:verdicts",
}

# Without the notebook part a listing is text, which needs only the core.
_AS_TEXT = {
    "list_designs": "kipviz.views.reports.listing:designs",
    "list_faults": "kipviz.views.reports.listing:faults",
    "list_profiles": "kipviz.views.reports.listing:profiles",
    "list_scenarios": "kipviz.views.reports.listing:scenarios",
    "list_slots": "kipviz.views.reports.listing:slots",
}


def campaign(
    scenarios: str | Iterable[str],
    designs: str | Iterable[str],
    faults: str | Iterable[str] = "calm",
    runs: int = 100,
    seed: int = 0,
    *,
    by: str = "design",
    steps_max: int = 600,
    way: str = "spark",
    spark: SparkSession | None = None,
    partitions: int | None = None,
    folder: str | Path | None = None,
) -> CampaignView:
    """Open the panel of a campaign: seeded runs over scenarios x designs x fault profiles.

    The panel has a button that starts the campaign; `start()` and `wait()` do the same from a cell.

    Args:
        scenarios: one name or several.
        designs: one name or several.
        faults: fault profiles, one name or several.
        runs: seeds per combination.
        seed: the first seed.
        by: how the rows of the table are grouped: "design", "scenario" or "faults".
        steps_max: the number of steps after which a run ends.
        way: how it is run: "spark", "processes" or "loop"; a loop without a folder needs no Spark and also works in a
            browser.
        spark: the Spark session; by default one on this machine.
        partitions: the number of Spark tasks.
        folder: where finished parts are saved; the same campaign resumes from them.

    Example:
        >>> import kipviz
        >>> designs = ["repaired", "finding-D"]
        >>> kipviz.campaign("kip-1289-two-members", designs, "rough", runs=2, way="loop")
        Campaign of 4 runs: scenario kip-1289-two-members x 2 designs x fault profile rough x seeds 0..1: Not run yet.

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    from typing import cast

    # The panel and the campaign are on the same floor and may not import each other; they meet here.
    panel = cast(
        "type[CampaignView]", _load("campaign", "kipviz.widgets.results.campaign_view:CampaignView")
    )
    asked = (scenarios, designs, faults, runs, seed, steps_max)
    if way == "loop" and folder is None:
        return panel(_load("campaign", "kipviz.campaigns.loop:LoopCampaign")(*asked), by)
    work = _load("campaign", "kipviz.spark.campaign:Campaign")
    more = {"way": way, "spark": spark, "partitions": partitions, "folder": folder}
    return panel(work(*asked, **more), by)


def _load(name: str, place: str) -> Any:
    """Import the object that a public name refers to.

    Raises:
        MissingPart: if it needs an optional part that is not installed.
    """
    module, _, there = place.partition(":")
    try:
        return getattr(import_module(module), there)
    except ModuleNotFoundError as error:
        parts = import_module("kipviz.core.outside.optional_parts")
        missing = parts.missing_part(f"kipviz.{name}", error)
        if missing is None:
            raise
        raise missing from None


if not TYPE_CHECKING:  # for mypy a name that is not listed above is an error, and not Any

    def __getattr__(name: str) -> Any:
        if "IPython" in sys.modules:
            import_module("kipviz.widgets.mistakes").in_one_line()
        if name in _HOMES:
            try:
                return _load(name, _HOMES[name])
            except ImportError:
                if name not in _AS_TEXT:
                    raise
                return _load(name, _AS_TEXT[name])
        from difflib import get_close_matches

        near = [] if name.startswith("_") else get_close_matches(name, __all__)
        hint = f"; nearest {'is' if len(near) == 1 else 'are'} {' and '.join(near)}" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    """Return the public names; modules of the floors below are imported by their own names."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
