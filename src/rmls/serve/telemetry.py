"""What a process counts of its requests, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from rmls.serve.store import ModelStore
    from rmls.serve.work import Gate

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Telemetry:
    """Counters of one process; where there are several workers, each answers with its own."""

    def __init__(self, store: ModelStore, gate: Gate) -> None:
        self._store, self._gate = store, gate
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "rmls_requests", "Requests.", ("route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "rmls_request_seconds",
            "Time of requests.",
            ("route",),
            registry=self.registry,
            buckets=SECONDS,
        )
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield what is looked at when it is asked for."""
        yield GaugeMetricFamily("rmls_running", "Requests worked on.", self._gate.running)
        yield GaugeMetricFamily("rmls_waiting", "Requests that wait.", self._gate.waiting)
        labels = GaugeMetricFamily("rmls_model_labels", "Labels of a model.", labels=["model"])
        since = GaugeMetricFamily(
            "rmls_model_since_seconds", "When a model was taken up.", labels=["model"]
        )
        for name in self._store.names:
            served = self._store.get(name)
            labels.add_metric([name], len(served.labels.names))
            since.add_metric([name], served.since)
        yield from (labels, since)

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all of it as Prometheus reads it."""
        return bytes(generate_latest(self.registry))
