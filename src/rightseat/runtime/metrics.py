"""Metrics for operators: counted in dictionaries, exported to Prometheus on request.

Counting costs a dictionary look-up; prometheus_client is imported with the first scrape. Label values are
configured names and fixed words, never client input; their number is capped.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

Labels = tuple[str, ...]
MAX_LABEL_SETS = 500
OTHER_LABEL = "(other)"
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def cap_labels(values: Labels, known: Mapping[Labels, object]) -> Labels:
    """Return the label values; beyond the cap new ones share one series, to bound the memory."""
    return values if values in known or len(known) < MAX_LABEL_SETS else (OTHER_LABEL,) * len(values)


class MetricCounter:
    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self.values: dict[Labels, float] = {}

    def add(self, *values: str, by: float = 1) -> None:
        values = cap_labels(values, self.values)
        self.values[values] = self.values.get(values, 0) + by

    def to_family(self) -> Metric:
        from prometheus_client.metrics_core import CounterMetricFamily

        family = CounterMetricFamily(self.name, self.help, labels=self.labels)
        for labels, value in self.values.items():
            family.add_metric(labels, value)
        return family


class MetricGauge:
    def __init__(self, name: str, help: str) -> None:
        self.name, self.help = name, help
        self.value = 0

    def to_family(self) -> Metric:
        from prometheus_client.metrics_core import GaugeMetricFamily

        return GaugeMetricFamily(self.name, self.help, value=self.value)


class MetricHistogram:
    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self.counts: dict[Labels, list[int]] = {}
        self.sums: dict[Labels, float] = {}

    def observe(self, seconds: float, *values: str) -> None:
        values = cap_labels(values, self.counts)
        counts = self.counts.setdefault(values, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self.sums[values] = self.sums.get(values, 0.0) + seconds

    def to_family(self) -> Metric:
        from prometheus_client.metrics_core import HistogramMetricFamily

        family = HistogramMetricFamily(self.name, self.help, labels=self.labels)
        bounds = (*map(str, BUCKETS), "+Inf")
        for labels, counts in self.counts.items():
            family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), self.sums[labels])
        return family


class Metrics:
    """All metrics of the process. One instance survives every reload."""

    def __init__(self) -> None:
        self.requests = MetricCounter("rightseat_requests", "Requests answered.", "route", "status")
        self.runs = MetricCounter("rightseat_runs", "Runs ended.", "assistant", "reason")
        self.failures = MetricCounter("rightseat_run_failures", "Runs that failed.", "assistant", "code")
        self.active = MetricGauge("rightseat_runs_active", "Runs under way.")
        self.runs_not_kept = MetricCounter("rightseat_runs_not_kept", "Runs answered while the store was away.")
        self.store_away = MetricGauge("rightseat_store_away", "Whether the store's server is away.")
        self.live_away = MetricGauge("rightseat_live_away", "Whether the live server is away.")
        self.store_waiting = MetricGauge("rightseat_store_waiting_entries", "Entries that wait for the store.")
        self.store_dropped = MetricGauge(
            "rightseat_store_dropped_entries", "Entries not kept because the store was away for too long."
        )
        self.config_disagree = MetricGauge(
            "rightseat_config_disagree", "Whether another replica of this deployment has another configuration."
        )
        self.tasks = MetricGauge("rightseat_tasks", "Tasks of the event loop.")
        self.run_seconds = MetricHistogram("rightseat_run_seconds", "How long runs took.", "assistant")
        self.first_token = MetricHistogram(
            "rightseat_first_token_seconds", "From a run's start to its first text.", "assistant"
        )
        self.model_calls = MetricCounter("rightseat_model_calls", "Calls of models.", "model", "outcome")
        self.model_seconds = MetricHistogram("rightseat_model_call_seconds", "How long models took.", "model")
        self.tokens = MetricCounter("rightseat_tokens", "Tokens that models told of.", "model", "direction")
        self.cost = MetricCounter("rightseat_cost", "What those tokens cost, by the configuration.", "model")
        self.tool_calls = MetricCounter("rightseat_tool_calls", "Calls of tools.", "tool", "outcome")

    def count_tasks(self) -> None:
        """Count the tasks of the running event loop."""
        self.tasks.value = len(asyncio.all_tasks())

    def collect(self) -> Iterator[Metric]:
        """Yield metric families, as prometheus_client expects of a collector."""
        for metric in vars(self).values():
            yield metric.to_family()

    def to_prometheus(self) -> bytes:
        from prometheus_client.exposition import generate_latest
        from prometheus_client.registry import CollectorRegistry

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)
