"""The machine that the tests run on, unmocked."""
