"""Every Ledger: the same cases over one process and over several workers."""
