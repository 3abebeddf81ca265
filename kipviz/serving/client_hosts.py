"""The hosts of real clients: a client.id is any text, the name of a host is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
HOST_LENGTH_MAX = 60
CLIENTS_MAX = 10_000  # of which the host is remembered; the oldest is forgotten


class ClientHosts:
    """The host of each client.id; two clients that differ in it have two hosts.

    Args:
        is_taken: whether a name belongs to a host of the model.
    """

    def __init__(self, is_taken: Callable[[str], bool]) -> None:
        self._is_taken = is_taken
        self._hosts: dict[str, str] = {}
        self._owners: dict[str, str] = {}

    def name_host(self, client_id: str) -> str:
        """Return the host of a client; a client without an id is "client"."""
        known = self._hosts.get(client_id)
        if known is not None:
            return known
        name = _NOT_IN_NAMES.sub("-", client_id).strip("-")[:HOST_LENGTH_MAX] or "client"
        if self._is_taken(name):
            name += "-outside"
        host = name
        for number in count(2):
            if host not in self._owners and not self._is_taken(host):
                break
            host = f"{name}-{number}"
        if len(self._hosts) >= CLIENTS_MAX:
            oldest = next(iter(self._hosts))
            del self._owners[self._hosts.pop(oldest)]
        self._hosts[client_id], self._owners[host] = host, client_id
        return host

    def find_host(self, name: str) -> str:
        """Return the host of a client.id; any other name is returned as it is."""
        return self._hosts.get(name, name)
