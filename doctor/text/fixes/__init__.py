"""Fixes for a cause that a message in a text decides: the checks' own fixes, for the place the text comes from."""
