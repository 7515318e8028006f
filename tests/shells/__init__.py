"""Shells and what runs machines: completion, printed files, series for Prometheus."""
