"""Operators' requests that name several groups: the first one and `further` ones, each with its own result."""

from __future__ import annotations

from typing import Any, TypeVar

from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message, split_parts

ANSWERS: tuple[type[Any], ...] = tuple(api.response for api in APIS if api.several_groups)
OF_GROUPS: tuple[type[Any], ...] = tuple(api.request for api in APIS if api.several_groups)
_OF_GROUPS: frozenset[type[Any]] = frozenset(OF_GROUPS)
M = TypeVar("M", bound=Any)


def names_several(message: Any) -> bool:
    """Return whether a request is about more than one group."""
    return type(message) in _OF_GROUPS and bool(message.further)


def about(request: M, groups: tuple[str, ...]) -> M:
    """Return the same request about these groups."""
    narrowed: M = request.but(group_id=groups[0], further=groups[1:])
    return narrowed


def group_errors(message: Message) -> tuple[tuple[str, Errors], ...]:
    """Return the groups of a response about several that have an error."""
    if not isinstance(message, ANSWERS) or not message.further:
        return ()
    return tuple((each.group_id, each.error) for each in split_parts(message) if each.error)
