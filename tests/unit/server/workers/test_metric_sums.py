"""Sums of metrics over workers: counters and histograms of ended ones stay, gauges do not."""

import pytest

from rightseat.runtime.metrics import Metrics
from rightseat.server.workers.metric_sums import MetricsReply, MetricSums, SummedMetrics, take_snapshot


def make_metrics(runs: int, active: int) -> Metrics:
    metrics = Metrics()
    metrics.runs.add("default", "stop", by=runs)
    metrics.run_seconds.observe(0.2, "default")
    metrics.active.value = active
    return metrics


@pytest.mark.demand("scale.metrics_summed")
def test_an_ended_worker_keeps_its_counts_and_loses_its_gauges() -> None:
    sums = MetricSums()
    sums.keep(1, take_snapshot(make_metrics(3, active=1)))
    sums.keep(2, take_snapshot(make_metrics(4, active=2)))
    assert sums.add_up().gauges["active"] == 3
    sums.end_worker(1)
    # A number that has told nothing yet, and one that ends twice.
    sums.end_worker(1)
    sums.end_worker(3)
    sums.keep(1, take_snapshot(make_metrics(1, active=5)))
    total = SummedMetrics(MetricsReply(sums.add_up(), 2, 1, 1))
    text = total.to_prometheus().decode()
    assert 'rightseat_runs_total{assistant="default",reason="stop"} 8.0' in text
    assert 'rightseat_run_seconds_count{assistant="default"} 3.0' in text
    assert "rightseat_runs_active 7.0" in text
    assert "rightseat_workers_answered 1.0" in text
    assert "rightseat_worker_restarts_total 1.0" in text
