"""The members of groups, followed at every broker: of classic groups, and of share groups.

With several brokers each is followed at its own broker, in the worlds that this broker saw: who leads what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from kipviz.brokers.context import Context
from kipviz.cluster.real.rebuilt_cluster import RebuiltModel
from kipviz.cluster.world import World
from kipviz.recordings.decoded.elections import brokers_of, worlds_of
from kipviz.recordings.decoded.log_starts import Fronts
from kipviz.recordings.followed_members.joining import Joining, best_joining
from kipviz.recordings.followed_members.separate_share_groups import best_followed
from kipviz.recordings.followed_members.share_answer_text import at_broker
from kipviz.recordings.followed_members.sharing import Sharing
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.admission import Admission
from kipviz.recordings.request_context.evidence import Evidence, elections_of
from kipviz.recordings.request_context.known_leaders import KnownLeaders


class FollowedMembers:
    """What the brokers of a recording saw at each time, and the members of groups that asked them."""

    def __init__(
        self,
        evidence: Evidence,
        names: Mapping[str, str],
        model: RebuiltModel,
        moments: Iterable[tuple[int, World]],
        own: list[tuple[int, Context]],
        admission: Admission,
        fronts: Fronts,
        known_leaders: KnownLeaders,
    ) -> None:
        """Store the worlds at the times of their entries; `own` are a single broker's views of them."""
        self._names, self._admission = names, admission
        self._configs, self._changes = evidence.configs, evidence.config_changes
        self._entries, self._decisions = evidence.entries, evidence.decisions
        self._fronts, self._known_leaders = fronts, known_leaders
        self._moments, self._own = list(moments), own
        decided = worlds_of(self._decisions, self._moments) if self._decisions else ()
        self._decided = list(decided)
        self._seen = {
            broker: [(at, model.context(world, broker)) for at, world in self._decided]
            for broker in brokers_of(self._decisions)
        }

    def classic_groups(self, exchanges: tuple[Exchange, ...]) -> dict[int, Joining]:
        """Follow the classic groups at each broker: 0 stands for a single broker.

        Raises:
            KeyError, TypeError, ValueError: if a request of a member lacks a field of its version.
            CannotHandleError: if the model cannot handle one.
        """
        follow = partial(
            best_joining,
            admission=self._admission,
            leaders_known=bool(self._decisions),
            complete=self._known_leaders.complete,
        )
        if not self._decisions:
            roles = [world.roles for _, world in self._moments]
            contexts = [(*each, known) for each, known in zip(self._own, roles, strict=True)]
            return {0: follow(exchanges, contexts, elections_of(self._entries))}
        return {
            broker: follow(
                tuple(x if x.broker == broker else x.but(api="") for x in exchanges),
                [
                    (at, on, world.roles)
                    for (at, world), (_, on) in zip(self._decided, self._seen[broker], strict=True)
                ],
                self._known_leaders.loading,
            )
            for broker in brokers_of(self._decisions)
        }

    def share_groups(self, exchanges: tuple[Exchange, ...]) -> tuple[ComparedAnswer, ...]:
        """Follow share groups in the order of the lines, and if necessary with earlier arrivals than the lines show.

        Raises:
            KeyError, TypeError, ValueError: if a request of a member lacks a field of its version.
            CannotHandleError: if the model cannot handle one.
        """
        return best_followed(exchanges, self._follow_leaders)

    def _follow_leaders(
        self, exchanges: tuple[Exchange, ...], states_at_once: bool = False
    ) -> tuple[ComparedAnswer, ...]:
        """Follow the share-partition leaders of each broker."""
        if self._decisions:
            brokers = brokers_of(self._decisions)
            each = [(at_broker(exchanges, broker), self._seen[broker]) for broker in brokers]
        else:
            each = [(exchanges, self._fronts.contexts(self._own))]
        found: list[ComparedAnswer] = []
        for asked, contexts in each:
            follower = Sharing(
                asked,
                self._names,
                contexts,
                self._configs,
                self._admission,
                config_changes=self._changes,
                leaders_known=bool(self._decisions),
                states_at_once=states_at_once,
            )
            found += follower.verdicts()
        return tuple(found)
