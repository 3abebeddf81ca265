"""The sockets of a served cluster: a listener on loopback per broker, a connection per client, one thread that reads and writes.

It cuts what clients send into frames and hands them to the cluster; what a request means is no concern of it.

As in Kafka (SocketServer, Processor), a connection's next request is taken only when the response before it has been
written, so a client that does not read costs one response. Connections above the limit are closed at once, as above
max.connections.per.ip (ConnectionQuotas): all clients have the same address here. An idle connection is closed after
connections.max.idle.ms (Selector.IdleExpiryManager), unless its request is held. What Kafka does not bound is bounded
here: the sum of all unfinished requests.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from time import monotonic, sleep
from typing import Any

from kipviz.serving.callers import Caller
from kipviz.serving.served_cluster import ServedCluster, why_not_handled
from kipviz.serving.timing.time_outs import TimeOuts
from kipviz.serving.translating.reply_context import HOST

FRAME_MAX = 16 * 1024 * 1024  # of socket.request.max.bytes, which is 100 MB
BUFFERED_MAX = 256 * 1024 * 1024  # of all connections together
TLS_HANDSHAKE = b"\x16\x03"  # RFC 8446, 5.1: the record type and the major version
READ_AHEAD = 256 * 1024
CONNECTIONS_MAX = 20_000
MAX_IDLE_S = 600.0  # connections.max.idle.ms
FILES_SPARE = 64  # file descriptors that are left for everything else in the process
FILES_UNLIMITED = 1 << 30
TURN_S = 0.02  # how long the cluster is held before others may look at it
FRAMES_A_TURN = 16
ACCEPTS_A_TURN = 128
# Windows and browsers have no such limit, and not the module either.
resource: Any = import_module("resource") if find_spec("resource") else None
PAUSE_S = 0.1  # of the listeners, when the machine has no file descriptors left
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def files_max() -> int:
    """Return how many file descriptors this process may have."""
    if resource is None:
        return FILES_UNLIMITED
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return FILES_UNLIMITED if soft == resource.RLIM_INFINITY else soft


def raise_files_max() -> None:
    """Allow this process as many file descriptors as it may have, as a JVM does (-XX:+MaxFDLimit)."""
    if resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _bind(port: int) -> socket.socket:
    """Return a socket that is bound to a port on loopback; 0 is any free port."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
    except OSError:
        made.close()
        raise
    return made


class SocketServer:
    """Listeners and connections; it listens from the beginning, and answers once it is started.

    `moved` is held while the cluster is touched, and notified when something may have happened.
    """

    def __init__(
        self,
        brokers: Iterable[int],
        moved: threading.Condition,
        idle_s: float,
        max_idle_s: float = MAX_IDLE_S,
    ) -> None:
        """Listen for each broker on a free port; stop after `idle_s` seconds without a connection.

        A connection without a request is closed after `max_idle_s` seconds; 0 means never.
        """
        self._moved = moved
        self._selector = selectors.DefaultSelector()
        self._listeners: dict[int, socket.socket] = {}
        # The bound ports of brokers that are down: they refuse connections, and no other program takes the port.
        self._reserved: dict[int, socket.socket] = {}
        self.ports: dict[int, int] = {}
        self._paused_until = 0.0
        for broker in brokers:
            self._listen(broker, 0)
        self._sockets: dict[Caller, socket.socket] = {}
        self._buffers: dict[Caller, bytearray] = {}
        self._buffered = 0
        # What the selector waits for, and when something was last read or written: the longest ago comes first.
        self._wanted: dict[Caller, int] = {}
        self._active_at: dict[Caller, float] = {}
        self._max_idle_s = max_idle_s
        self._full_at = 0
        self._idle_s = idle_s
        self._busy_at = monotonic()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ, None)
        self.stopping = False
        # Why it has stopped by itself; "" otherwise.
        self.ended = ""
        self.thread = threading.Thread(target=self._loop, name="kipviz-serve", daemon=True)

    def start(self, cluster: ServedCluster, time_outs: TimeOuts) -> None:
        """Begin to answer for a cluster."""
        self._cluster, self._time_outs = cluster, time_outs
        self.thread.start()

    @property
    def callers(self) -> tuple[Caller, ...]:
        """The clients that are connected."""
        return tuple(self._sockets)

    def wake(self) -> None:
        """Let the thread look at the cluster now."""
        # The loop already has something to read, or has ended: then there is no need to wake it.
        with contextlib.suppress(OSError):
            self._wake_out.send(b"!")

    def stop(self) -> None:
        """Close every connection and listener."""
        self.stopping = True
        if self.thread.ident is None:
            self._close_all()  # it was never started
            return
        self.wake()
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout=5)

    # -- the loop ------------------------------------------------------------------------------

    def _loop(self) -> None:
        try:
            while not self.stopping:
                events = self._selector.select(self._patience_s())
                with self._moved:
                    self._handle(events)
                    if self._end_what_is_over():
                        self._stop_if_idle()
                    self._settle()
                    self._close_idle()
                    self._moved.notify_all()
        finally:
            self._close_all()

    def _close_all(self) -> None:
        listeners = (*self._listeners.values(), *self._reserved.values())
        for sock in (*self._sockets.values(), *listeners):
            sock.close()
        self._selector.close()
        self._wake_in.close()
        self._wake_out.close()

    def _end_what_is_over(self) -> bool:
        """End long polls and transactions; an error ends no server."""
        try:
            return self._time_outs.end_what_is_over()
        except Exception as mistake:  # noqa: BLE001
            self._cluster.lines.append(f"a time-out: {why_not_handled(mistake)}")
            return True

    def _patience_s(self) -> float:
        if self._cluster.callers.any_touched:
            return 0.0
        patience = self._time_outs.patience_s
        return min(patience, PAUSE_S) if self._paused_until else patience

    def _handle(self, events: Iterable[tuple[selectors.SelectorKey, int]]) -> None:
        """Handle events; every few milliseconds others may use the cluster."""
        turn = monotonic()
        for key, mask in events:
            self._handle_guarded(key, mask)
            if monotonic() - turn >= TURN_S:
                self._settle()
                self._moved.notify_all()
                self._moved.release()
                sleep(0)  # otherwise this thread has the lock again before another one wakes up
                self._moved.acquire()
                turn = monotonic()

    def _stop_if_idle(self) -> None:
        now = monotonic()
        if self._sockets:
            self._busy_at = now
        elif now - self._busy_at >= self._idle_s:
            self.ended = f"no client was connected for {self._idle_s:g} s"
            self.stopping = True

    def _listen(self, broker: int, port: int) -> None:
        listener = self._reserved.pop(broker, None) or _bind(port)
        try:
            listener.listen(1_024)
        except OSError:
            listener.close()
            raise
        listener.setblocking(False)
        self._listeners[broker] = listener
        self.ports[broker] = listener.getsockname()[1]
        if not self._paused_until:
            self._selector.register(listener, selectors.EVENT_READ, broker)

    def _handle_guarded(self, key: selectors.SelectorKey, events: int) -> None:
        """Handle an event; an error closes the connection of the event, and no other."""
        try:
            self._event(key, events)
        except Exception as mistake:  # noqa: BLE001  an error ends no server
            if isinstance(key.data, Caller):
                self._cluster.refuse(key.data, why_not_handled(mistake))
            else:
                self._cluster.lines.append(f"a new connection: {why_not_handled(mistake)}")

    def _event(self, key: selectors.SelectorKey, events: int) -> None:
        place = key.data
        if place is None:
            self._wake_in.recv(4096)
        elif isinstance(place, int):
            self._accept(place)
        elif place in self._sockets and not place.broken:
            if events & selectors.EVENT_WRITE:
                self._write(place)
                self._cluster.callers.touch(place)
            if events & selectors.EVENT_READ and place in self._sockets:
                self._read(place)

    # -- new connections -----------------------------------------------------------------------

    def _accept(self, broker: int) -> None:
        for _ in range(ACCEPTS_A_TURN):
            listener = self._listeners.get(broker)
            if listener is None or self._paused_until:
                return
            try:
                sock, _ = listener.accept()
            except OSError as wrong:
                if wrong.errno in _NO_ROOM:
                    self._pause(broker, wrong)
                return
            room = min(CONNECTIONS_MAX, files_max() - FILES_SPARE)
            if len(self._sockets) >= CONNECTIONS_MAX or sock.fileno() >= files_max() - FILES_SPARE:
                sock.close()
                self._refuse_connection(broker, room)
                continue
            try:
                self._add_connection(broker, sock)
            except Exception:
                sock.close()
                raise

    def _add_connection(self, broker: int, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        caller = self._cluster.connect(broker)
        self._selector.register(sock, selectors.EVENT_READ, caller)
        self._sockets[caller] = sock
        self._buffers[caller] = bytearray()
        self._wanted[caller] = selectors.EVENT_READ
        self._active_at[caller] = monotonic()

    def _refuse_connection(self, broker: int, room: int) -> None:
        """Log one line for as long as there is no room."""
        if self._full_at:
            return
        self._full_at = len(self._sockets)
        why = f"the limit is {CONNECTIONS_MAX}"
        if room < CONNECTIONS_MAX:
            why = f"this process may have {files_max()} open files (ulimit -n)"
        self._cluster.lines.append(
            f"a connection to broker {broker} refused: there are {self._full_at} already, and {why}"
        )

    def _pause(self, broker: int, wrong: OSError) -> None:
        """Accept nothing for a moment: the connection that cannot be accepted would wake the loop all the time."""
        self._refuse_connection(broker, 0)
        self._paused_until = monotonic() + PAUSE_S
        for listener in self._listeners.values():
            self._selector.unregister(listener)

    def _resume(self) -> None:
        if self._paused_until and monotonic() >= self._paused_until:
            self._paused_until = 0.0
            for broker, listener in self._listeners.items():
                self._selector.register(listener, selectors.EVENT_READ, broker)

    def _close_idle(self) -> None:
        """Close the connections that have been idle for too long; the first one is the longest idle."""
        now = monotonic()
        while self._active_at and self._max_idle_s:
            caller = next(iter(self._active_at))
            if now - self._active_at[caller] < self._max_idle_s:
                return
            if caller.in_flight:
                self._note_active(caller)  # its request is held, by a rule or by hand
                continue
            idle = f"idle for {self._max_idle_s:g} s (connections.max.idle.ms)"
            self._cluster.refuse(caller, idle)
            self._close(caller)

    def _note_active(self, caller: Caller) -> None:
        del self._active_at[caller]
        self._active_at[caller] = monotonic()

    # -- bytes ---------------------------------------------------------------------------------

    def _read(self, caller: Caller) -> None:
        try:
            data = self._sockets[caller].recv(READ_AHEAD)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(caller)
            return
        self._note_active(caller)
        buffer = self._buffers[caller]
        buffer += data
        self._buffered += len(data)
        if self._buffered > BUFFERED_MAX and len(buffer) > READ_AHEAD:
            size = f"{BUFFERED_MAX // 1024 // 1024} MB"
            self._cluster.refuse(caller, f"the unfinished requests of all clients are above {size}")
            return
        self._frames(caller)
        if caller in self._sockets and len(self._buffers[caller]) >= READ_AHEAD:
            self._cluster.callers.touch(caller)

    def _frames(self, caller: Caller) -> None:
        """Hand over the complete frames of a buffer, until one of them waits or a response is not written yet."""
        buffer = self._buffers[caller]
        for _ in range(FRAMES_A_TURN):
            if len(buffer) < 4 or caller.broken or caller.current is not None:
                return
            size = int.from_bytes(buffer[:4], "big", signed=True)
            if not 0 <= size <= FRAME_MAX:
                why = f"a frame has a size of {size} bytes, which is not from 0 to {FRAME_MAX}"
                if buffer.startswith(TLS_HANDSHAKE):
                    why += "; is it TLS? The listeners speak PLAINTEXT"
                self._cluster.refuse(caller, why)
                return
            if len(buffer) < 4 + size:
                return
            frame = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            self._buffered -= 4 + size
            self._cluster.feed(caller, frame)
            if caller.out:
                self._write(caller)
                if caller.out or caller not in self._sockets:
                    return
        self._cluster.callers.touch(caller)  # the rest has its turn after the other connections

    def _write(self, caller: Caller) -> None:
        try:
            sent = self._sockets[caller].send(caller.out)
        except BlockingIOError:
            return
        except OSError:
            self._close(caller)
            return
        if sent:
            self._note_active(caller)
        del caller.out[:sent]

    def _close(self, caller: Caller) -> None:
        sock = self._sockets.pop(caller, None)
        if sock is None:
            return
        if self._wanted.pop(caller):
            self._selector.unregister(sock)
        sock.close()
        self._buffered -= len(self._buffers.pop(caller))
        del self._active_at[caller]
        if len(self._sockets) < self._full_at * 0.9:
            self._full_at = 0
        self._time_outs.forget(caller)
        self._cluster.disconnect(caller)

    def _settle(self) -> None:
        """Write pending bytes, close broken connections, and listen for brokers that run."""
        for caller in self._cluster.callers.take_touched():
            if caller in self._sockets:
                try:
                    self._settle_caller(caller)
                except Exception as mistake:  # noqa: BLE001  one client's request ends no server
                    self._cluster.refuse(caller, why_not_handled(mistake))
        self._resume()
        up = self._cluster.world.up
        for broker in tuple(self._listeners):
            if broker not in up:
                listener = self._listeners.pop(broker)
                if not self._paused_until:
                    self._selector.unregister(listener)
                listener.close()
                with contextlib.suppress(OSError):
                    self._reserved[broker] = _bind(self.ports[broker])
        for broker in up:
            if broker not in self._listeners:
                self._listen_again(broker)

    def _listen_again(self, broker: int) -> None:
        """Listen for a broker that has started; if its port is taken, try again at each turn."""
        lines, port = self._cluster.lines, self.ports[broker]
        try:
            self._listen(broker, port)
        except OSError as wrong:
            line = f"broker {broker} cannot listen on port {port} yet: {wrong.strerror}"
            if not lines or lines[-1] != line:
                lines.append(line)

    def _settle_caller(self, caller: Caller) -> None:
        if caller.out:
            self._write(caller)
        if caller.broken:
            self._close(caller)
        if caller not in self._sockets:
            return
        self._time_outs.look_at(caller)
        if not caller.out:
            self._frames(caller)
        if caller not in self._sockets:
            return
        buffer = self._buffers[caller]
        size = int.from_bytes(buffer[:4], "big") if len(buffer) >= 4 else 0
        # The requests of a client that does not read its responses wait until it does.
        stuffed = len(buffer) >= max(READ_AHEAD, 4 + size)
        self._want(
            caller,
            (0 if stuffed else selectors.EVENT_READ) | (selectors.EVENT_WRITE if caller.out else 0),
        )

    def _want(self, caller: Caller, events: int) -> None:
        """Let the selector wait for some events of a connection, or for none."""
        before, sock = self._wanted[caller], self._sockets[caller]
        if events == before:
            return
        self._wanted[caller] = events
        if not before:
            self._selector.register(sock, events, caller)
        elif not events:
            self._selector.unregister(sock)
        else:
            self._selector.modify(sock, events, caller)
