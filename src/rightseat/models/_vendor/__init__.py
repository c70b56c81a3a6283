"""What the models of vendors share: client (requests and retries), exchange (one streamed answer), parser (payloads and
tool calls), request (parts of bodies), errors and options."""
