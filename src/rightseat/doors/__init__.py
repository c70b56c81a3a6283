"""Front ends' protocols, a folder each: wire (shapes), read (→ Turn), write (Event →), routes (HTTP)."""
