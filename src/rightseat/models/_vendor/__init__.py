"""What the models of vendors share: client (requests and retries), exchange (one streamed answer), parser (payloads and
tool calls), chat_parser (answers of chat completions), request (parts of bodies), thinking (what a caller asks for),
reasoning (which thoughts a server wants back), thinking_cache (thoughts of earlier answers), errors and options."""
