"""Values and protocols that every other folder uses. No I/O, no web framework."""
