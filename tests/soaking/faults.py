"""What goes wrong in a soak: brokers, leaders, connections and messages by the script, and clients that are none."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import Counter
from collections.abc import Callable
from random import Random

from kipviz.messages.wire.frame import KINDS
from kipviz.serving.translating.apis import APIS
from tests.soaking.raw_client import LOOPBACK, METADATA, encode_frame
from tests.soaking.server_process import ServerProcess
from tests.soaking.workers import PARTITIONS, TOPICS

MESSAGES = tuple(sorted(kind.__name__ for kind in KINDS))
FLOOD = 150
SOCKETS_MAX = 1_000
STATES = ("PREPARE_COMMIT", "PREPARE_ABORT", "COMPLETE_COMMIT", "ONGOING")
INTERNAL = ("__transaction_state", "__consumer_offsets", "__share_group_state")


class Faults:
    """Faults by the dice, each counted; `heal` ends those that do not end by themselves."""

    def __init__(self, server: ServerProcess, dice: Random) -> None:
        self._server, self._dice = server, dice
        self._down: set[int] = set()
        self._sockets: list[socket.socket] = []
        self.counts: Counter[str] = Counter()
        self._known: tuple[tuple[str, Callable[[], None], int], ...] = (
            ("crash", self._crash, 3),
            ("start", self._start, 4),
            ("move", self._move, 4),
            ("rule", self._add_rule, 3),
            ("release", self._release, 6),
            ("deliver or lose", self._deliver_or_lose, 8),
            ("end polls", lambda: self._do("end-polls"), 1),
            ("time out", self._time_out, 2),
            ("line", lambda: self._do("line", client="tx-0", text="a line \x1b\n" * 20), 1),
            ("look", self._look, 1),
            ("random bytes", self._send_random, 3),
            ("half a frame", self._send_half, 3),
            ("wrong version", self._send_wrong_version, 3),
            ("wrong size", self._send_wrong_size, 2),
            ("mutated frame", self._send_mutated, 6),
            ("never reads", self._never_read, 2),
            ("flood", self._flood, 1),
            ("reset", self._reset, 2),
        )

    def inject(self) -> None:
        """Let one thing go wrong."""
        names = [name for name, _, _ in self._known]
        (name,) = self._dice.choices(names, [weight for _, _, weight in self._known])
        self.counts[name] += 1
        with contextlib.suppress(OSError):
            next(do for known, do, _ in self._known if known == name)()

    def heal(self) -> None:
        """Start every broker, remove every rule, and close what hostile clients hold open."""
        self.close()
        self._do("release")
        for broker in self._server.ports:
            self._do("start", broker=broker)  # refused for one that runs
        self._down.clear()

    def _do(self, what: str, **more: object) -> bool:
        return bool(self._server.do(what, **more)["ok"])

    # -- the cluster ----------------------------------------------------------------------------

    def _crash(self) -> None:
        # A partition keeps a replica: two of three brokers run.
        if not self._down:
            broker = self._dice.choice(tuple(self._server.ports))
            if self._do("crash", broker=broker):
                self._down.add(broker)

    def _start(self) -> None:
        for broker in sorted(self._down):
            self._do("start", broker=broker)
        self._down.clear()

    def _move(self) -> None:
        topic = self._dice.choice((*TOPICS, *INTERNAL))
        index = self._dice.randrange(PARTITIONS)
        to = self._dice.choice(tuple(self._server.ports))
        self._do("move", partition=f"{topic}-{index}", to=to)

    def _add_rule(self) -> None:
        dice = self._dice
        what = dice.choice((*MESSAGES, "answer", "request", "answer", "request"))
        nth = dice.choice(("", f"the {dice.randint(1, 30)}th ", f"every {dice.randint(2, 40)}th "))
        words = f"{dice.choice(('hold', 'lose'))} {nth}{what}"
        if dice.random() < 0.1 and not self._down:
            # The broker that crashes is unknown here, so all are started when it heals.
            words = f"crash the coordinator at {dice.choice(STATES)}"
            self._down |= set(self._server.ports)
        self._do("rule", rule=words)

    def _release(self) -> None:
        self._do("release")

    def _deliver_or_lose(self) -> None:
        held = self._server.do("held")["held"]
        if held:
            index = self._dice.randrange(len(held))
            self._do(self._dice.choice(("deliver", "lose")), index=index)

    def _time_out(self) -> None:
        self._do("time-out", transactional_id=f"tx-{self._dice.randrange(3)}")

    def _look(self) -> None:
        for what in ("clients", "requests", "held", "log", "step"):
            self._do(what)

    # -- clients that are none ------------------------------------------------------------------

    def _connect(self) -> socket.socket:
        port = self._server.ports[self._dice.choice(tuple(self._server.ports))]
        return socket.create_connection((LOOPBACK, port), timeout=2.0)

    def _send(self, data: bytes, *, keep: bool = False) -> None:
        made = self._connect()
        made.sendall(data)
        if keep and len(self._sockets) < SOCKETS_MAX:
            self._sockets.append(made)
            return
        made.settimeout(0.05)
        with contextlib.suppress(OSError):
            made.recv(65_536)
        made.close()

    def _send_random(self) -> None:
        self._send(self._dice.randbytes(self._dice.randint(1, 4_000)))

    def _choose_frame(self) -> bytearray:
        key = self._dice.choice(tuple(APIS))
        api = APIS[key]
        return bytearray(encode_frame(key, self._dice.randint(api.lowest, api.highest)))

    def _send_half(self) -> None:
        data = self._choose_frame()
        keep = self._dice.random() < 0.5
        self._send(bytes(data[: self._dice.randrange(1, len(data))]), keep=keep)

    def _send_wrong_version(self) -> None:
        data = self._choose_frame()
        data[6:8] = struct.pack(">h", self._dice.choice((-1, 32, 99, 32_767)))
        self._send(bytes(data))

    def _send_wrong_size(self) -> None:
        data = self._choose_frame()
        size = self._dice.choice((-1, -(2**31), 2**31 - 1, 0, 3))
        self._send(struct.pack(">i", size) + bytes(data[4:]))

    def _send_mutated(self) -> None:
        data = self._choose_frame()
        for _ in range(self._dice.randint(1, 6)):
            data[self._dice.randrange(8, len(data))] = self._dice.randrange(256)
        self._send(bytes(data), keep=self._dice.random() < 0.2)

    def _never_read(self) -> None:
        """Ask for everything, again and again, and read nothing."""
        frame = encode_frame(METADATA, 1, Topics=None)
        made = self._connect()
        made.settimeout(0.2)
        self._sockets.append(made)
        with contextlib.suppress(OSError):
            for _ in range(200):
                made.sendall(frame * 50)

    def _flood(self) -> None:
        for _ in range(FLOOD):
            if len(self._sockets) < SOCKETS_MAX:
                with contextlib.suppress(OSError):
                    self._sockets.append(self._connect())

    def _reset(self) -> None:
        """Close a connection with a reset in the middle of a request."""
        made = self._connect()
        made.sendall(bytes(self._choose_frame()) * 3)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.close()

    def close(self) -> None:
        """Close what hostile clients hold open."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()
