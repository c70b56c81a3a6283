"""Many turns.

- runs: RunSupervisor runs turns, applies limits and turns exceptions into RunFailed.
- responders: finds responders by name; handoff tools between assistants.
- model_names: which model names mean the default assistant, and what is said of unknown ones.
- threads: ThreadRuns, runs that outlive their client and are followed by number; shared_threads: the same where several
  workers share the store; takeover: records of runs that another worker goes on with when theirs has died;
  worker_messages: messages of any size between workers; worker_log: what is logged of others' runs.
- trace: RunTrace, how long each part of a run took, kept with its thread.
- answer: what `Runtime.ask` takes and returns.
- incidents: RunContext and Incident, the report of a failed run.
- metrics: counters for Prometheus.
"""
