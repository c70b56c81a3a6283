"""What `make check` and `make test` run besides the tests."""
