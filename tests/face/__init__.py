"""gpudoctor as Python sees it."""
