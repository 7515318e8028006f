"""One grammar of keys and values for every layout, over one table of words (tables/grammar.toml)."""
