"""What a reader answered and saw in a run; the run's file stores it beside the steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kipviz.core.values import Value

# A prediction is named after the node at which it is asked: its kind, the run if there are several, the node.
PREDICTION = re.compile(r"([a-z])(?:(\d+):)?(\d+)", re.ASCII)


class Learned(Value, frozen=True):
    """A reader's answers by question, the questions whose answer was revealed, and the goals reached."""

    answers: tuple[tuple[str, int], ...] = ()
    revealed: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()

    def renumber(self, trees: Mapping[int, int], nodes: Sequence[Mapping[int, int]]) -> Learned:
        """Return it with new numbers of trees, and of nodes by their new tree.

        A prediction at a node that is dropped is left out; a question of a story has its own name.
        """

        def name(question: str) -> str | None:
            if (found := PREDICTION.fullmatch(question)) is None:
                return question
            tree = trees.get(int(found[2] or 0))
            node = nodes[tree].get(int(found[3])) if tree is not None else None
            return None if node is None else f"{found[1]}{f'{tree}:' if tree else ''}{node}"

        answers = tuple((now, said) for asked, said in self.answers if (now := name(asked)))
        revealed = tuple(now for asked in self.revealed if (now := name(asked)))
        return Learned(answers, revealed, self.reached)

    def without_predictions(self) -> Learned:
        """Return it without predictions, neither their answers nor which were revealed."""
        answers = tuple(one for one in self.answers if PREDICTION.fullmatch(one[0]) is None)
        revealed = tuple(name for name in self.revealed if PREDICTION.fullmatch(name) is None)
        return Learned(answers, revealed, self.reached)


# The mark in a file that the options of predictions are ordered by id; earlier files order them by their words.
BY_ID = "by id"

# The record of a new reader.
NOTHING = Learned()
