"""A story from a file on the command line: SCENARIO may be the path of a document."""

from __future__ import annotations

import argparse

from kipviz.command.bad_input import RefusedInput

ENDS = ".md"


def read_own(arguments: argparse.Namespace) -> None:
    """Read the document that SCENARIO names, if it is one, and replace SCENARIO by the story's name.

    Raises:
        Refused: if the file cannot be read, is no story, or cannot be played.
    """
    given = getattr(arguments, "scenario", None)
    if isinstance(given, str) and given.endswith(ENDS):
        from kipviz.lessons.own_story import story

        try:
            arguments.scenario = str(story(given))
        except ValueError as wrong:
            raise RefusedInput(str(wrong)) from None
