"""All fuzz targets, by name."""

from __future__ import annotations

from tests.fuzz import (
    of_campaigns,
    of_commands,
    of_foreign,
    of_guests,
    of_logs,
    of_page,
    of_runs,
)
from tests.fuzz.fuzzing import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *of_logs.TARGETS,
        *of_runs.TARGETS,
        *of_page.TARGETS,
        *of_commands.TARGETS,
        *of_campaigns.TARGETS,
        *of_guests.TARGETS,
        *of_foreign.TARGETS,
    )
}
