"""Container images: where one is read from (registry, engine, archive, folder), and its Snapshot."""
