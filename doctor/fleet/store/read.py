"""A fleet's database as what the statistics and the report ask of it."""

from __future__ import annotations

from collections.abc import Iterator

from ..kinds import Cohort, Duplicate, GpuRow, Node, NodeFinding, Refused, Run, Value, ValueCount, With
from .opened import connect


def open_store(path: str) -> Store:
    """The database at `path`. Raises Unopened with one line where it is none that this gpudoctor reads."""
    return Store(path)


class Store:
    """Read-only; lists of all values are never in memory at once."""

    def __init__(self, path: str) -> None:
        self._db = connect(path)

    def close(self) -> None:
        self._db.close()

    def runs(self) -> list[Run]:
        """The fillings; one in a database of `fleet load`."""
        raise NotImplementedError

    def nodes(self) -> list[Node]:
        """All nodes, by id."""
        raise NotImplementedError

    def findings(self) -> Iterator[NodeFinding]:
        """The root findings of all nodes, those of a node in its report's order; without info remarks."""
        raise NotImplementedError

    def refused(self) -> list[Refused]:
        raise NotImplementedError

    def duplicates(self) -> list[Duplicate]:
        raise NotImplementedError

    def value_counts(self, cohort: Cohort) -> Iterator[ValueCount]:
        """Each fact that nodes of a cohort have, by path; those that differ by nature are not stored as facts."""
        raise NotImplementedError

    def nodes_with(self, path: str, value: str, cohort: Cohort) -> list[With]:
        """The nodes of a cohort with this value of a fact."""
        raise NotImplementedError

    def nodes_without(self, path: str, cohort: Cohort) -> list[With]:
        """The nodes of a cohort that could not read a fact, and said so."""
        raise NotImplementedError

    def figures(self, cohort: Cohort) -> list[str]:
        """The figures that were measured on nodes of a cohort, by name."""
        raise NotImplementedError

    def values(self, cohort: Cohort, figure: str) -> list[Value]:
        """All values of one figure in a cohort, all repeats."""
        raise NotImplementedError

    def gpus(self, cohort: Cohort) -> list[GpuRow]:
        """The GPUs of a cohort, for splitting its values by power limit and link."""
        raise NotImplementedError
