"""Many turns: the runtime that serves them.

- runs: RunSupervisor runs turns, applies limits and turns exceptions into RunFailed.
- responders: finds responders by name; handoff tools between assistants.
- threads: ThreadRuns, runs that outlive their client and are followed by number.
- incidents: RunContext and Incident, the report of a failed run.
- metrics: counters for Prometheus.
"""
