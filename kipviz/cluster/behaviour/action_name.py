"""The name of an action: a value, its text in scripts, and its words on the screen.

Stories, readers' programs and `Cluster.take` name an action by a pattern of its text in scripts. So these texts are a
language: new ones are added, and none is ever reworded. The screen, tables and errors show the words, which can be
reworded without a change to any story.
"""

from __future__ import annotations

from kipviz.core.values import TextValue, Value
from kipviz.settings.consumer_configs import MAX_POLL_INTERVAL_MS


class Verb(Value, frozen=True):
    """The kind of an action, by a name that is never reworded; each behaviour has its own (`verbs`).

    `in_scripts` is the text in stories and programs: it is never reworded either, because they are stored.
    """

    name: str
    in_scripts: str


ON_SCREEN: dict[str, str] = {
    "step": "{0}: next statement",
    "give up": "{0} abandons its request to {1}",
    "load": "{0} is loaded on {1}",
    "expire lock": "the lock of {0} expires",
    "expire lock of group": "the lock of {0} in {1} expires",
    "run out": "{0} expires at {1}",
    "delay over": "{0} ends at {1}",
    "client timer": "{0} of {1} ends",
    "miss poll": f"{{0}} exceeds {MAX_POLL_INTERVAL_MS.name}",
    "lose connection": "{0} is disconnected from {1}",
    "cut": "{0} are partitioned",
    "heal": "{0} are connected again",
    "pause": "{0} is paused",
    "resume": "{0} resumes",
    "install release": "{0} is stopped to install {1}",
    "remake topic": "{0} is deleted and created again",
    "delete topic": "{0} is deleted",
    "create topic": "{0} is created",
}
"""Other words on the screen, by a verb's name; a verb without an entry is shown as in scripts."""


class ActionName(Value, frozen=True):
    """An action's verb and its objects: hosts, partitions, messages, timers, in the order of the text's placeholders.

    `timer` is the timer that expires; its text is the first part, and it has words of its own.
    """

    verb: Verb
    parts: tuple[str, ...] = ()
    timer: TextValue | None = None

    @property
    def in_scripts(self) -> str:
        """The text that patterns of scripts are matched against."""
        return self.verb.in_scripts.format(*self.parts)

    @property
    def on_screen(self) -> str:
        """The words for a reader."""
        words = ON_SCREEN.get(self.verb.name, self.verb.in_scripts)
        if self.timer is None:
            return words.format(*self.parts)
        return words.format(self.timer.words, *self.parts[1:])
