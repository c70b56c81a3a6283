"""Metrics over all workers: snapshots of each, their sums, and the sums of workers that have ended.

Every value that a scrape shows has passed the supervisor, which keeps the last one of each worker. So the sum does not
go back when a worker is replaced.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from msgspec import DecodeError, Struct, field, json

from rightseat.runtime.metrics import Labels, MetricCounter, MetricGauge, MetricHistogram, Metrics

log = logging.getLogger(__name__)
METRICS_SOCKET = "metrics"
# A worker that a tool keeps busy answers later than others; a stopped one not at all.
ANSWER_SECONDS = 2.0
SCRAPE_SECONDS = 2 * ANSWER_SECONDS


class CounterSamples(Struct):
    values: list[tuple[Labels, float]] = field(default_factory=list)


class HistogramSamples(Struct):
    values: list[tuple[Labels, list[int], float]] = field(default_factory=list)


class MetricsSnapshot(Struct, omit_defaults=True):
    """The values of one process, or of several, by the attributes of Metrics."""

    counters: dict[str, CounterSamples] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, HistogramSamples] = field(default_factory=dict)


class MetricsReply(Struct, frozen=True):
    """What the supervisor tells of all workers."""

    metrics: MetricsSnapshot
    workers: int
    answered: int
    restarts: int


def take_snapshot(metrics: Metrics) -> MetricsSnapshot:
    """Copy the values of the process. It is called in a thread, while the event loop counts on."""
    snapshot = MetricsSnapshot()
    for name, metric in vars(metrics).items():
        # Each list() is one step for other threads.
        if isinstance(metric, MetricCounter):
            snapshot.counters[name] = CounterSamples(list(metric.values.items()))
        elif isinstance(metric, MetricGauge):
            snapshot.gauges[name] = metric.value
        elif isinstance(metric, MetricHistogram):
            samples = [
                (labels, list(counts), metric.sums.get(labels, 0.0)) for labels, counts in list(metric.counts.items())
            ]
            snapshot.histograms[name] = HistogramSamples(samples)
    return snapshot


def add_snapshot(metrics: Metrics, snapshot: MetricsSnapshot, *, gauges: bool = True) -> None:
    """Add the values to those of `metrics`; names that it does not have are left out."""
    for name, metric in vars(metrics).items():
        if isinstance(metric, MetricCounter):
            for labels, value in snapshot.counters.get(name, CounterSamples()).values:
                metric.values[labels] = metric.values.get(labels, 0) + value
        elif isinstance(metric, MetricGauge):
            metric.value += int(snapshot.gauges.get(name, 0)) if gauges else 0
        elif isinstance(metric, MetricHistogram):
            for labels, counts, total in snapshot.histograms.get(name, HistogramSamples()).values:
                known = metric.counts.get(labels, [0] * len(counts))
                metric.counts[labels] = [left + right for left, right in zip(known, counts, strict=True)]
                metric.sums[labels] = metric.sums.get(labels, 0.0) + total


class MetricSums:
    """The supervisor's books: the last snapshot of each running worker, and the sums of those that have ended."""

    def __init__(self) -> None:
        self.last: dict[int, MetricsSnapshot] = {}
        """By the worker's number."""
        self.ended = Metrics()

    def keep(self, number: int, snapshot: MetricsSnapshot) -> None:
        self.last[number] = snapshot

    def end_worker(self, number: int) -> None:
        """Move the counts of a worker to those of the ended ones. Its gauges end with it."""
        if (snapshot := self.last.pop(number, None)) is not None:
            add_snapshot(self.ended, snapshot, gauges=False)

    def add_up(self) -> MetricsSnapshot:
        total = Metrics()
        add_snapshot(total, take_snapshot(self.ended))
        for snapshot in self.last.values():
            add_snapshot(total, snapshot)
        return take_snapshot(total)


class SummedMetrics(Metrics):
    """Metrics of all workers, for one scrape."""

    def __init__(self, reply: MetricsReply) -> None:
        super().__init__()
        add_snapshot(self, reply.metrics)
        self.workers = MetricGauge("rightseat_workers", "Workers that this server has.")
        self.workers.value = reply.workers
        self.answered = MetricGauge(
            "rightseat_workers_answered", "Workers whose numbers in this scrape are of this moment."
        )
        self.answered.value = reply.answered
        self.restarts = MetricCounter("rightseat_worker_restarts", "Workers that were replaced.")
        self.restarts.add(by=reply.restarts)


async def sum_metrics(own: Metrics, run_folder: Path, workers: int) -> Metrics:
    """Return the metrics of all workers; those of this one alone where the supervisor does not answer."""
    try:
        async with asyncio.timeout(SCRAPE_SECONDS):
            reader, writer = await asyncio.open_unix_connection(run_folder / METRICS_SOCKET)
            try:
                line = await reader.read()
            finally:
                writer.close()
        return SummedMetrics(json.decode(line, type=MetricsReply))
    except (OSError, TimeoutError, DecodeError):
        log.warning("The supervisor did not answer: these are the numbers of one worker.")
        return SummedMetrics(MetricsReply(take_snapshot(own), workers, 1, 0))
