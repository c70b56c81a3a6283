"""Many turns: who answers, which runs are under way, what went wrong."""
