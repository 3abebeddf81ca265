"""A slow link in front of a server on this machine: every byte is so many seconds late, each way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"
AT_ONCE = 65536


class SlowLink:
    """Listens on a free port and passes everything on to another one, and back, late.

    Attributes:
        port: Where to knock.
    """

    def __init__(self, to: int, seconds: float = 0.075) -> None:
        self._to = to
        self._seconds = seconds
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        start = asyncio.start_server(self._connect, LOOPBACK, 0)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connect(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, on = await asyncio.open_connection(LOOPBACK, self._to)
        try:
            with contextlib.suppress(asyncio.CancelledError):  # the link is taken down
                await asyncio.gather(self._pass(near, on), self._pass(far, back))
        finally:
            for writer in (on, back):
                writer.close()

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Hand every piece on when its time has come; what comes behind it does not wait twice."""
        loop = asyncio.get_running_loop()
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def hand_on() -> None:
            while True:
                due, piece = await late.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not piece:
                    with contextlib.suppress(OSError):
                        sink.write_eof()
                    return
                sink.write(piece)
                await sink.drain()

        sending = asyncio.create_task(hand_on())
        with contextlib.suppress(ConnectionError):
            while piece := await source.read(AT_ONCE):
                late.put_nowait((loop.time() + self._seconds, piece))
        late.put_nowait((loop.time() + self._seconds, b""))
        with contextlib.suppress(ConnectionError):
            await sending
