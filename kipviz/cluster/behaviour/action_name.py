"""The name of an action: a value, its text in scripts, and its words on the screen.

Stories, readers' programs and `Cluster.take` name an action by a pattern of its text in scripts. So these texts are a
language: they are added to and never reworded. What the screen, tables and errors show are the words, which can be
reworded without a change to any story.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.cluster.behaviour.timer_words import timer_words
from kipviz.core.values import Value


class Verb(StrEnum):
    """What happens in an action."""

    STEP = "step"
    SEND = "send"
    CLIENT_TIMER = "client timer"
    EXPIRE_BATCH = "expire batch"
    TIME_OUT_CALL = "time out call"
    MISS_POLL = "miss poll"
    DELIVER = "deliver"
    DELIVER_FROM = "deliver from"
    DELIVER_LATE = "deliver late"
    GIVE_UP = "give up"
    LOSE_CONNECTION = "lose connection"
    CUT = "cut"
    HEAL = "heal"
    PAUSE = "pause"
    RESUME = "resume"
    CRASH = "crash"
    START = "start"
    REPLICATE = "replicate"
    LOAD = "load"
    EXPIRE_LOCK = "expire lock"
    EXPIRE_LOCK_OF_GROUP = "expire lock of group"
    TIME_OUT_TRANSACTION = "time out transaction"
    RUN_OUT = "run out"
    DELAY_OVER = "delay over"
    REFRESH = "refresh"
    MOVE_LEADER = "move leader"
    REMAKE_TOPIC = "remake topic"
    DELETE_TOPIC = "delete topic"
    CREATE_TOPIC = "create topic"
    DELETE_RECORDS = "delete records"
    UPGRADE_FEATURE = "upgrade feature"
    INSTALL_RELEASE = "install release"
    CREATE_ACLS = "create ACLs"
    DELETE_ACLS = "delete ACLs"
    TICK = "tick"
    READ_LOG = "read log"


IN_SCRIPTS = {
    Verb.STEP: "{0} goes on",
    Verb.SEND: "{0} sends {1}",
    Verb.CLIENT_TIMER: "{0} of {1} is over",
    Verb.EXPIRE_BATCH: "a batch of {0} expires",
    Verb.TIME_OUT_CALL: "a call of {0} times out",
    Verb.MISS_POLL: "{0} polls too late",
    Verb.DELIVER: "{0} arrives at {1}",
    Verb.DELIVER_FROM: "{0} from {1} arrives at {2}",
    Verb.DELIVER_LATE: "late {0} arrives at {1}",
    Verb.GIVE_UP: "{0} gives up on {1}",
    Verb.LOSE_CONNECTION: "{0} loses {1}",
    Verb.CUT: "{0} are cut apart",
    Verb.HEAL: "{0} are joined",
    Verb.PAUSE: "{0} stands still",
    Verb.RESUME: "{0} wakes up",
    Verb.CRASH: "{0} crashes",
    Verb.START: "{0} starts",
    Verb.REPLICATE: "{0} is replicated",
    Verb.LOAD: "{0} takes office on {1}",
    Verb.EXPIRE_LOCK: "the lock of {0} runs out",
    Verb.EXPIRE_LOCK_OF_GROUP: "the lock of {0} in {1} runs out",
    Verb.TIME_OUT_TRANSACTION: "{0} times out",
    Verb.RUN_OUT: "{0} runs out at {1}",
    Verb.DELAY_OVER: "{0} is over at {1}",
    Verb.REFRESH: "{0} refreshes {1}",
    Verb.MOVE_LEADER: "{0} moves to {1}",
    Verb.REMAKE_TOPIC: "{0} is deleted and made again",
    Verb.DELETE_TOPIC: "{0} is deleted for good",
    Verb.CREATE_TOPIC: "{0} is made",
    Verb.DELETE_RECORDS: "the oldest batch of {0} is deleted",
    Verb.UPGRADE_FEATURE: "{0} {1} is finalized",
    Verb.INSTALL_RELEASE: "{0} is stopped for {1}",
    Verb.CREATE_ACLS: "the ACL '{0}' is created",
    Verb.DELETE_ACLS: "the ACL '{0}' is deleted",
    Verb.TICK: "time passes",
    Verb.READ_LOG: "{0} {1}@{2} is read",
}
"""The language of scripts. A text here is never reworded: stored stories and readers' programs are written in it."""

ON_SCREEN = {**IN_SCRIPTS}
"""The words that a reader sees; an entry of its own rewords an action and changes no script."""

_OF_TIMERS = (Verb.CLIENT_TIMER, Verb.RUN_OUT, Verb.DELAY_OVER)


class ActionName(Value, frozen=True):
    """What happens, and to what: hosts, partitions, messages, timers, in the order of the texts' places."""

    verb: Verb
    parts: tuple[str, ...] = ()

    @property
    def in_scripts(self) -> str:
        """The text that patterns of scripts are held against."""
        return IN_SCRIPTS[self.verb].format(*self.parts)

    @property
    def on_screen(self) -> str:
        """The words for a reader."""
        words = ON_SCREEN[self.verb]
        if self.verb in _OF_TIMERS:
            timer, where = self.parts
            return words.format(timer_words(timer), where)
        return words.format(*self.parts)
