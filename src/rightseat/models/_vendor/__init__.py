"""What the models of vendors share: error messages, options, the reading of a streamed response."""
