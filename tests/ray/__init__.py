"""Tests with a real Ray cluster."""
