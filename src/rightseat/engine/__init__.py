"""One turn: the loop of model answers and tool calls."""
