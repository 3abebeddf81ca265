"""The members of groups, followed from the first request to the last: of share groups and of classic groups.

State that is only in a broker's memory is followed by them: acquisition locks, and groups of the classic protocol
between two generations (`followed_members`). A request that the model cannot handle is set aside, and its group is
followed without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kipviz.recordings.followed_members.joining import JOINING, Joining
from kipviz.recordings.followed_members.members import FollowedMembers
from kipviz.recordings.followed_members.separate_share_groups import APIS as MEMBERS_AND_STATES
from kipviz.recordings.followed_members.separate_share_groups import group_by_group, of_one_group
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.handling import CannotHandleError, why_set_aside
from kipviz.recordings.judging.request_book import RequestBook
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer

T = TypeVar("T")


class FollowedGroups:
    """The groups of a recording, whose requests are in a book.

    Attributes:
        joining: the classic groups at each broker; 0 stands for a single broker.
    """

    def __init__(self, book: RequestBook, members: FollowedMembers) -> None:
        """Follow the classic groups.

        Raises:
            RecordingError: if a request of a member lacks a field of its API.
        """
        self._book, self._members = book, members
        self.joining = self._setting_aside(lambda: self._follow(book.exchanges))

    def judge_all(self) -> tuple[ComparedAnswer, ...]:
        """Follow the members of share groups and of classic groups from the first request to the last."""
        return (*self.judge_share_groups(), *self.judge_classic_groups())

    def follow_again(self, number: int, changed: Exchange) -> tuple[ComparedAnswer, ...]:
        """Follow one group again, with another answer to one of its members.

        Raises:
            RecordingError: if an answer lacks a field of its API.
            CannotHandleError: if the model cannot handle it.
        """
        api = changed.api
        among = MEMBERS_AND_STATES if api in MEMBERS else JOINING
        exchanges = of_one_group(self._book.exchanges, number, among)
        exchanges = (*exchanges[:number], changed, *exchanges[number + 1 :])
        if api in MEMBERS:
            with self._book.taking_apart(number, changed):
                return self._members.share_groups(exchanges)
        return tuple(each for one in self._follow(exchanges).values() for each in one.verdicts)

    def judge_classic_groups(self) -> tuple[ComparedAnswer, ...]:
        """Follow the members of classic groups, and judge whether the model could give each answer."""
        return tuple(each for one in self.joining.values() for each in one.verdicts)

    def judge_share_groups(self) -> tuple[ComparedAnswer, ...]:
        """Follow the members of share groups, and judge whether the model could give each answer."""
        return self._setting_aside(self._follow_members)

    def _setting_aside(self, follow: Callable[[], T]) -> T:
        """Follow the exchanges, and repeat without each one that the model cannot handle.

        Raises:
            RecordingError: if the one that cannot be handled was set aside already.
        """
        while True:
            try:
                return follow()
            except CannotHandleError as stuck:
                exchange = self._book.exchanges[stuck.number]
                why = why_set_aside(stuck.number, exchange, stuck.problem)
                self._book.set_aside(stuck.number, why)

    def _follow(self, exchanges: tuple[Exchange, ...]) -> dict[int, Joining]:
        """Follow the classic groups at each broker: 0 stands for a single broker."""
        with self._book.reading("A request of a member of a group lacks what it has"):
            return self._members.classic_groups(exchanges)

    def _follow_members(self) -> tuple[ComparedAnswer, ...]:
        """Follow the members of share groups, group by group."""
        with self._book.reading("A share fetch or acknowledgement lacks what it has"):
            groups = group_by_group(self._book.exchanges)
            return tuple(each for group in groups for each in self._members.share_groups(group))
