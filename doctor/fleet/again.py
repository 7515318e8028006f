"""Which nodes of a database are measured again: those that look slow by their only measurement."""

from __future__ import annotations

from .nodesets import in_order
from .store.read import open_store
from .summary import slow_of

REPEATS = (2, 3)
"""The measurements after the first that a node needs to be called slow, or healthy."""


def looking_slow(database: str) -> list[str]:
    """Names of the nodes that look slow and have not been measured often enough. Raises Unopened."""
    store = open_store(database)
    try:
        names = {node.id: node.name for node in store.nodes()}
        found = {names[node] for state, node, _ in slow_of(store).found if state == "once"}
        return sorted(found, key=in_order)
    finally:
        store.close()
