"""A service without a model: the page's own files, and answers in the shapes of the real ones.

What it says is made of the words of the text, so that tests know the answers by construction.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

from rmls.serve.guard import SECURITY
from rmls.serve.problems import Problem
from rmls.serve.routes import page

NAMES = ["boat, sailing", "harbour", "sea", "boat, fishing", "dog", "woman", "tree", "bridge"]
ODD = ["a/b: 50% & <more>?", "名前", "🚢 ships"]
LABELS = [*NAMES, *ODD, *(f"place {number:03}" for number in range(250))]
OTHERS = {"boat, fishing": ["trawler", "smack"]}
ROWS = {label: max(1, 400 >> min(place, 9)) for place, label in enumerate(LABELS)}


@dataclass
class Behaviour:
    """How the service answers; tests change it while it runs.

    Attributes
    ----------
    token : str or None
        What requests must carry.
    busy : int
        So many requests for suggestions are refused at first.
    slow : str or None
        A text that holds this word is answered late.
    columns : list of str or None
    models : list of str
    has_quality : bool
    feedback_status : int
    calls : list of (path, body)
    """

    token: str | None = None
    busy: int = 0
    slow: str | None = None
    columns: list[str] | None = None
    models: list[str] = field(default_factory=lambda: ["works"])
    has_quality: bool = True
    feedback_status: int = 201
    calls: list[tuple[str, Any]] = field(default_factory=list)
    queue: list[dict[str, Any]] = field(default_factory=list)

    def bodies(self, path: str) -> list[Any]:
        """Return what was sent to a path."""
        return [body for called, body in self.calls if called == path]


def joined(text: Any) -> str:
    return text if isinstance(text, str) else "\n".join(text.values())


def suggestions(text: Any, k: int = 5, tail: float | None = None) -> list[dict[str, Any]]:
    """Suggest labels with a word in the text first, then others; a tail of 1 turns the order."""
    words = set(re.findall(r"\w+", joined(text).lower()))
    hits = [label for label in LABELS if words.intersection(re.findall(r"\w+", label))]
    ranked = [*hits, *(label for label in LABELS if label not in hits)]
    found = [
        {
            "label": label,
            "probability": round(0.94 * 0.8**place if place < len(hits) else 0.3 * 0.7**place, 4),
            "score": round(3.1 - 0.4 * place, 3),
            "rows": ROWS[label],
        }
        for place, label in enumerate(ranked[: max(k, 8)])
    ]
    return (found[::-1] if tail is not None and tail > 0.5 else found)[:k]


def explanation(text: Any, label: str) -> dict[str, Any]:
    """Explain a label by words that it shares with the text, in places of characters."""
    fields = {"text": text} if isinstance(text, str) else text
    own = set(re.findall(r"\w+", label))
    words = [
        {"field": name, "start": at.start(), "end": at.end(), "text": at.group()}
        | {"part": 2.4 if at.group().lower() in own else 0.3 if len(at.group()) > 5 else -0.2}
        for name, content in fields.items()
        for at in re.finditer(r"\w+", content)
    ]
    parts = {"prior": -3.5, "classifier": sum(word["part"] for word in words), "vectors": 1.25}
    parts |= {"names": 0.5, "dense": 0.0, "boost": 0.125, "remainder": 0.0}
    near = [{"row": 12, "similarity": 0.82, "text": "Boats at anchor", "labels": [label, "sea"]}]
    score = sum(parts.values())
    return {"label": label, "probability": 0.9, "score": score, "listed": True, "parts": parts} | {
        "words": words,
        "similar_rows": near,
    }


def quality() -> dict[str, Any]:
    names = [("head", 20, 0.71), ("torso", 60, 0.48), ("tail", 181, 0.22)]
    groups = [
        {"group": name, "labels": labels, "precision": f1 + 0.05, "recall": f1 - 0.05, "f1": f1}
        for name, labels, f1 in names
    ]
    curve = [
        {"stated": 0.05 + 0.1 * step, "true": (0.05 + 0.1 * step) ** 1.2, "count": 4000 >> step}
        for step in range(10)
    ]
    worst = [{"label": label, "rows": ROWS[label], "f1": 0.0, "held_out_rows": 7} for label in ODD]
    figures = [
        {"metric": metric, "group": group, "value": 0.7, "low": 0.68, "high": 0.72}
        | {"baseline": 0.6, "baseline_low": 0.57, "baseline_high": 0.63, "without_repeats": 0.65}
        for metric in ("P@1", "macro F")
        for group in ("all", "head", "torso", "tail")
    ]
    about = {"n_rows": 1200, "n_judges": 3, "measured": "2026-11-16T10:00:00+00:00"}
    return {"groups": groups, "reliability": curve, "worst": worst, "figures": figures} | {
        **about,
        "baseline": "nearest neighbours",
    }


def model_entry(name: str, is_first: bool) -> dict[str, Any]:
    entry = {"name": name, "default": is_first, "labels": len(LABELS), "rows": 6400}
    return entry | {"method": "TextRanker", "version": "1", "since": "2026-11-16T10:00:00Z"}


def find(query: str) -> list[str]:
    starts = query.lower().split()
    words = {label: re.findall(r"\w+", label.lower()) for label in LABELS}
    return [
        label
        for label in LABELS
        if all(any(word.startswith(start) for word in words[label]) for start in starts)
    ]


def make_fake(behaviour: Behaviour) -> FastAPI:
    app = FastAPI()
    app.include_router(page.router)

    @app.middleware("http")
    async def add_headers(request: Request, answer: Any) -> Response:
        response: Response = await answer(request)
        response.headers.update(SECURITY)
        return response

    @app.exception_handler(Problem)
    def answer_problem(_: Request, error: Problem) -> Response:
        return error.response()

    def check(request: Request) -> None:
        given = request.headers.get("authorization")
        if behaviour.token is not None and given != f"Bearer {behaviour.token}":
            raise Problem(401, "give the token of the service.")

    add_labels(app, behaviour, check)
    add_models(app, behaviour, check)

    @app.post("/v1/suggest")
    def suggest(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        check(request)
        behaviour.calls.append(("suggest", body))
        if behaviour.busy > 0:
            behaviour.busy -= 1
            raise Problem(429, "the service is busy.", headers={"Retry-After": "1"})
        texts = body.get("texts", [body.get("text")])
        if behaviour.slow and any(behaviour.slow in joined(text) for text in texts):
            time.sleep(1.5)
        if any("REFUSED" in joined(text) for text in texts):
            raise Problem(413, "a text may have 200,000 characters.")
        found = [{"suggestions": suggestions(t, body["k"], body.get("tail"))} for t in texts]
        return {"model": behaviour.models[0], "results": found}

    @app.post("/v1/explain")
    def explain(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        check(request)
        behaviour.calls.append(("explain", body))
        return explanation(body["text"], body["label"])

    @app.post("/v1/feedback")
    def feedback(request: Request, body: dict[str, Any], response: Response) -> dict[str, str]:
        check(request)
        behaviour.calls.append(("feedback", body))
        if behaviour.feedback_status >= 400:
            raise Problem(behaviour.feedback_status, "this service takes no feedback.")
        behaviour.queue = [row for row in behaviour.queue if row["id"] != body["id"]]
        response.status_code = behaviour.feedback_status
        return {"id": body["id"]}

    @app.get("/v1/review")
    def review(request: Request, limit: int = 20) -> dict[str, Any]:
        check(request)
        return {"rows": behaviour.queue[:limit]}

    @app.post("/v1/review/rows")
    def add_rows(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        check(request)
        behaviour.calls.append(("review/rows", body))
        for text in body["texts"]:
            why = "rare label" if len(behaviour.queue) % 2 else "uncertain"
            row = {"id": f"row-{len(behaviour.queue)}", "text": text, "why": why}
            behaviour.queue.append(row | {"suggestions": suggestions(text)})
        return {"ids": [row["id"] for row in behaviour.queue]}

    return app


def add_labels(app: FastAPI, behaviour: Behaviour, check: Any) -> None:
    @app.get("/v1/labels")
    def labels(
        request: Request, query: str = "", limit: int = 20, offset: int = 0, sort: str = "name"
    ) -> dict[str, Any]:
        check(request)
        behaviour.calls.append(("labels", {"query": query, "sort": sort, "offset": offset}))
        found = find(query)
        found = sorted(found, key=lambda label: -ROWS[label] if sort == "rows" else label)
        shown = [
            {"label": label, "rows": ROWS[label], "names": OTHERS.get(label, []), "f1": None}
            for label in found[offset : offset + limit]
        ]
        return {"total": len(found), "labels": shown}

    @app.get("/v1/labels/{label:path}")
    def label_page(request: Request, label: str) -> dict[str, Any]:
        check(request)
        if label not in ROWS:
            raise Problem(404, f"there is no label {label!r}.")
        weights = {"boats": 2.4, "sail": 1.9, "harbour": 0.8, "castle": -0.9, "dog": -0.4}
        quality = {"precision": 0.8, "recall": 0.6, "f1": 0.69, "held_out_rows": 40}
        return {
            "label": label,
            "rows": ROWS[label],
            "names": OTHERS.get(label, []),
            "group": "head" if ROWS[label] > 50 else "tail",
            "top_features": [{"feature": word, "weight": w} for word, w in weights.items()],
            "similar": [{"label": other, "similarity": 0.8} for other in NAMES if other != label],
            "quality": quality if behaviour.has_quality else None,
        }


def add_models(app: FastAPI, behaviour: Behaviour, check: Any) -> None:
    @app.get("/v1/models")
    def models(request: Request) -> dict[str, Any]:
        check(request)
        names = behaviour.models
        return {"models": [model_entry(name, name == names[0]) for name in names]}

    @app.get("/v1/models/{name}")
    def model(request: Request, name: str) -> dict[str, Any]:
        check(request)
        record = {"trained_on": "works.csv", "seconds": 3.52, "rows": 6400, "language": "english"}
        record |= {"options": {"normalize": "none", "n_components": 250, "tail": True}}
        bins = [{"rows": 1 << step, "labels": 5000 >> step} for step in range(12)]
        return model_entry(name, True) | {
            "description": record,
            "frequencies": bins,
            "quality": quality() if behaviour.has_quality else None,
            "columns": behaviour.columns,
        }


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application on a free port, and return its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join()
