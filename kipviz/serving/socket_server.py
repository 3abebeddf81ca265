"""The sockets of a served cluster: a listener on loopback per broker, a connection per client, one thread that reads and writes.

It cuts what clients send into frames and hands them to the cluster; what a request means is no concern of it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterable
from time import monotonic

from kipviz.serving.served_cluster import Caller, ServedCluster, why_not_handled
from kipviz.serving.time_outs import TimeOuts
from kipviz.serving.translating.reply_context import HOST

FRAME_MAX = 16 * 1024 * 1024  # of socket.request.max.bytes, which is 100 MB
FRAMES_WAITING_MAX = 64
CONNECTIONS_MAX = 500


class SocketServer:
    """Listeners and connections; it listens from the beginning, and answers once it is started.

    `moved` is held while the cluster is touched, and notified when something may have happened.
    """

    def __init__(self, brokers: Iterable[int], moved: threading.Condition, idle_s: float) -> None:
        """Listen for each broker on a free port; stop after `idle_s` seconds without a connection."""
        self._moved = moved
        self._selector = selectors.DefaultSelector()
        self._listeners: dict[int, socket.socket] = {}
        self.ports: dict[int, int] = {}
        for broker in brokers:
            self._listen(broker, 0)
        self._sockets: dict[Caller, socket.socket] = {}
        self._buffers: dict[Caller, bytearray] = {}
        self._idle_s = idle_s
        self._busy_at = monotonic()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ, None)
        self.stopping = False
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
        self.wake()
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout=5)

    # -- the loop ------------------------------------------------------------------------------

    def _loop(self) -> None:
        try:
            while not self.stopping:
                for key, events in self._selector.select(self._time_outs.patience_s):
                    with self._moved:
                        self._handle_guarded(key, events)
                with self._moved:
                    if self._time_outs.end_what_is_over():
                        self._stop_if_idle()
                    self._settle()
                    self._moved.notify_all()
        finally:
            for sock in (*self._sockets.values(), *self._listeners.values()):
                sock.close()
            self._selector.close()
            self._wake_in.close()
            self._wake_out.close()

    def _stop_if_idle(self) -> None:
        now = monotonic()
        if self._sockets:
            self._busy_at = now
        elif now - self._busy_at >= self._idle_s:
            self.stopping = True

    def _listen(self, broker: int, port: int) -> None:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
        listener.setblocking(False)
        self._listeners[broker] = listener
        self.ports[broker] = listener.getsockname()[1]
        self._selector.register(listener, selectors.EVENT_READ, broker)

    def _handle_guarded(self, key: selectors.SelectorKey, events: int) -> None:
        """Handle an event; an error closes the connection of the event, and no other."""
        try:
            self._event(key, events)
        except Exception as mistake:
            if not isinstance(key.data, Caller):
                raise
            self._cluster.refuse(key.data, why_not_handled(mistake))

    def _event(self, key: selectors.SelectorKey, events: int) -> None:
        place = key.data
        if place is None:
            self._wake_in.recv(4096)
        elif isinstance(place, int):
            self._accept(place)
        elif place in self._sockets:
            if events & selectors.EVENT_WRITE:
                self._write(place)
            if events & selectors.EVENT_READ and place in self._sockets:
                self._read(place)

    def _accept(self, broker: int) -> None:
        try:
            sock, _ = self._listeners[broker].accept()
        except OSError:
            return
        if len(self._sockets) >= CONNECTIONS_MAX:
            sock.close()
            full = f"a connection to broker {broker} refused: there are {CONNECTIONS_MAX} already"
            if not self._cluster.lines or self._cluster.lines[-1] != full:
                self._cluster.lines.append(full)
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        caller = self._cluster.connect(broker)
        self._sockets[caller] = sock
        self._buffers[caller] = bytearray()
        self._selector.register(sock, selectors.EVENT_READ, caller)

    def _read(self, caller: Caller) -> None:
        try:
            data = self._sockets[caller].recv(256 * 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(caller)
            return
        buffer = self._buffers[caller]
        buffer += data
        self._frames(caller)

    def _frames(self, caller: Caller) -> None:
        """Hand over the complete frames of a buffer, as long as not too many wait already."""
        buffer = self._buffers[caller]
        while len(buffer) >= 4 and len(caller.frames) < FRAMES_WAITING_MAX and not caller.broken:
            size = int.from_bytes(buffer[:4], "big", signed=True)
            if not 0 <= size <= FRAME_MAX:
                why = f"a frame has a size of {size} bytes, which is not from 0 to {FRAME_MAX}"
                self._cluster.refuse(caller, why)
                return
            if len(buffer) < 4 + size:
                return
            frame = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            self._cluster.feed(caller, frame)

    def _write(self, caller: Caller) -> None:
        try:
            sent = self._sockets[caller].send(caller.out)
        except BlockingIOError:
            return
        except OSError:
            self._close(caller)
            return
        del caller.out[:sent]

    def _close(self, caller: Caller) -> None:
        sock = self._sockets.pop(caller, None)
        if sock is None:
            return
        self._selector.unregister(sock)
        sock.close()
        self._buffers.pop(caller, None)
        self._time_outs.forget(caller)
        self._cluster.disconnect(caller)

    def _settle(self) -> None:
        """Write pending bytes, close broken connections, and listen for brokers that run."""
        for caller in tuple(self._sockets):
            if caller.out:
                self._write(caller)
            if caller.broken:
                self._close(caller)
                continue
            if caller not in self._sockets:
                continue
            self._time_outs.look_at(caller)
            self._frames(caller)
            # The requests of a client that does not read its responses wait until it does.
            stuffed = len(caller.frames) >= FRAMES_WAITING_MAX or len(caller.out) > FRAME_MAX
            wanted = (0 if stuffed else selectors.EVENT_READ) | (
                selectors.EVENT_WRITE if caller.out else 0
            )
            if wanted:
                self._selector.modify(self._sockets[caller], wanted, caller)
        up = self._cluster.world.up
        for broker in tuple(self._listeners):
            if broker not in up:
                listener = self._listeners.pop(broker)
                self._selector.unregister(listener)
                listener.close()
        for broker in up:
            if broker not in self._listeners:
                self._listen(broker, self.ports[broker])
        if any(caller.broken for caller in self._sockets):
            self.wake()
