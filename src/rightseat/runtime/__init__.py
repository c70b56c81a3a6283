"""Many turns: admission, deadlines, failures, threads that outlive their client, metrics."""
