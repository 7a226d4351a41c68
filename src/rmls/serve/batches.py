"""Requests that wait at the same time are answered together.

One look at a model for sixteen texts takes three times as long as for one. While the threads are
busy, small requests gather; whichever thread is free next takes all of them at once. Nobody waits
for others to come: with one request at a time nothing is gathered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from rmls.core.errors import InputError
from rmls.serve.answers import Answer, Wanted, suggest, suggest_together
from rmls.serve.problems import Problem, busy
from rmls.serve.store import Served
from rmls.serve.texts import Text, count_characters
from rmls.serve.work import Gate, within

# Texts that are answered together, and characters of all of them.
MAX_TEXTS, MAX_CHARACTERS = 16, 32_000


@dataclass
class Request:
    """A request that waits."""

    served: Served
    texts: Sequence[Text]
    wanted: Wanted
    size: int
    answer: asyncio.Future[Answer]


class Batches:
    """Small requests, gathered while the threads of a gate are busy."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._waiting: deque[Request] = deque()
        self._looks: set[asyncio.Task[None]] = set()

    async def suggest(self, served: Served, texts: Sequence[Text], wanted: Wanted) -> Answer:
        """Return the labels of texts, when it is their turn."""
        gate, size = self._gate, sum(map(count_characters, texts))
        gate.refuse_when_full()
        is_small = 0 < len(texts) <= MAX_TEXTS and size <= MAX_CHARACTERS
        if not is_small or wanted.explain or wanted.decision is not None:
            return await gate.run(suggest, served, texts, wanted)
        request = Request(served, texts, wanted, size, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        gate.waiting += 1
        self._look()
        try:
            return await within(gate.settings.max_seconds, request.answer)
        except asyncio.TimeoutError:
            raise busy(503, "the request waited too long for its turn.") from None

    def _look(self) -> None:
        """Let a thread take what waits, if there is one that does not yet."""
        if self._waiting and len(self._looks) < self._gate.settings.max_running:
            look = asyncio.create_task(self._answer(self._take()))
            self._looks.add(look)
            look.add_done_callback(self._done)

    def _done(self, look: asyncio.Task[None]) -> None:
        self._looks.discard(look)
        self._look()

    def _take(self) -> list[Request]:
        """Return the first that waits, and those behind it that go together with it."""
        taken: list[Request] = []
        n_texts = size = 0
        while self._waiting:
            first = self._waiting[0]
            n_texts, size = n_texts + len(first.texts), size + first.size
            if taken and (
                first.served is not taken[0].served or n_texts > MAX_TEXTS or size > MAX_CHARACTERS
            ):
                break
            taken.append(self._waiting.popleft())
            self._gate.waiting -= 1
        return taken

    async def _answer(self, taken: list[Request]) -> None:
        # Whoever waited too long is not there any more.
        taken = [each for each in taken if not each.answer.done()]
        if not taken:
            return
        try:
            found = await self._gate.run(_suggest_each, taken)
        except BaseException as error:
            found = [error] * len(taken)
        for each, answer in zip(taken, found, strict=True):
            if each.answer.done():
                continue
            if isinstance(answer, BaseException):
                each.answer.set_exception(answer)
            else:
                each.answer.set_result(answer)


def _suggest_each(taken: list[Request]) -> list[Answer | BaseException]:
    """Answer requests together; one by one where something is wrong with one of them."""
    try:
        return [*suggest_together(taken[0].served, [(each.texts, each.wanted) for each in taken])]
    except (InputError, Problem):
        return [_suggest_one(each) for each in taken]


def _suggest_one(request: Request) -> Answer | BaseException:
    try:
        return suggest(request.served, request.texts, request.wanted)
    except (InputError, Problem) as error:
        return error
