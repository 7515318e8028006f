"""Reports of many nodes: stored in one SQLite file, and compared with each other."""
