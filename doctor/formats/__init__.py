"""Readers of foreign formats: bytes or text in, plain values out. Standard library only, Python 3.8 syntax."""
