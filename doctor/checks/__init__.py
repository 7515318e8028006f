"""One rule per file: a pure function of (Snapshot, Matrix, Policy). The file name is the id."""
