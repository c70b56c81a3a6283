"""AG-UI 1.0 as bytes and values, for every door that speaks it."""
