"""Stores: implementations of Store, CheckpointStore and ThreadStore."""
