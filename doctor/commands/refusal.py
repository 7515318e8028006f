"""What a command refuses to do: one line for stderr. Needs no click, so that the fast lane needs none."""

from __future__ import annotations


class Refusal(Exception):
    """Wrong usage or unreadable input; the message is one line."""
