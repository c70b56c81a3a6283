"""What the models of vendors share: the HTTP client, streamed answers, tool calls, errors, options."""
