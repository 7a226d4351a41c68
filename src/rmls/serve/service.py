"""What the routes of a service share."""

from __future__ import annotations

from fastapi import Request

from rmls.serve.batches import Batches
from rmls.serve.feedback import FeedbackFile
from rmls.serve.review import ReviewQueue
from rmls.serve.settings import Settings
from rmls.serve.store import ModelStore
from rmls.serve.telemetry import Telemetry
from rmls.serve.work import Gate


class Service:
    """Models and limits, the line of requests, what is counted, and the file of feedback."""

    def __init__(self, store: ModelStore, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.gate = Gate(settings)
        self.batches = Batches(self.gate)
        self.telemetry = Telemetry(store, self.gate)
        self.queue = ReviewQueue(settings.max_queued, settings.queue)
        given = settings.feedback
        self.feedback = None if given is None else FeedbackFile(given)

    def close(self) -> None:
        """Let what runs end, and take no more."""
        self.gate.close()
        self.queue.close()
        if self.feedback is not None:
            self.feedback.close()


async def get_service(request: Request) -> Service:
    """Return the service that a request came to."""
    # A coroutine: plain functions are called on another thread, which takes longer than this.
    service: Service = request.app.state.service
    return service
