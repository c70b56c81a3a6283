"""What every kind of remote agent needs: its HTTP API, its faults, its options."""
