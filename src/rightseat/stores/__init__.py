"""Where continuations, results and threads are kept."""
