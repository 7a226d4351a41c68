"""Connections that never come to their request are closed."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

Base: Any = AutoHTTPProtocol


class Patient(Base):  # type: ignore[misc]
    """The protocol of uvicorn, which by itself waits for the head of a request for ever."""

    # Set once for the process, by the settings of the service.
    seconds: ClassVar[float] = 30.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        """Take what has come; a head that is not complete has its time from now on."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop()
        elif self._timer is None and (before is None or before.response_complete):
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End waiting."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        self.transport.close()
