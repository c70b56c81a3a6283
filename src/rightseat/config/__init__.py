"""Configuration: rightseat.toml as values."""
