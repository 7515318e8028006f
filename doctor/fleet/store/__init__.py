"""The reports of a fleet in one SQLite file."""
