"""What the models of vendors share: client (requests and retries), exchange (one streamed answer), parser (payloads and
tool calls), request (parts of bodies), thinking (what a caller asks for), thinking_cache
(thoughts of earlier answers), errors and options."""
