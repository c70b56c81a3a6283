"""Values and protocols that every other folder speaks in. No I/O, no framework."""
