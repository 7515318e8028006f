"""A fleet's database as what the statistics and the report ask of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from ...findings import Fix
from ...formats.given import Unopened
from ..kinds import Cohort, Duplicate, GpuKind, LinkRow, Measured, Node, NodeFinding, Refused, Run, ValueCount, With
from .machines import seconds_of
from .opened import DAMAGE, connect
from .slots import Figure, picker

if TYPE_CHECKING:
    from .decided import Decision

_COHORT = "n.state = 'answered' and n.model is ? and n.gpus is ? and n.memory_gib is ? and n.arch is ?"
_LOST_GPU = re.compile(r"\(GPU (\d{1,3})\)")
"""How a title names a GPU that is not among the node's GPUs any more."""
_FIX = msgspec.json.Decoder(Fix)
_ARRAY = msgspec.json.Decoder(list[float | None])


def open_store(path: str) -> Store:
    """The database at `path`. Raises Unopened with one line if it is none that this gpudoctor reads."""
    return Store(path)


class Store:
    """Read-only; all values of a fleet are never in memory at once. Its methods raise Unopened for a damaged file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._db = connect(path)
        self._nodes: list[Node] | None = None

    def close(self) -> None:
        self._db.close()

    def runs(self) -> list[Run]:
        """The fillings; one in a database of `fleet load`."""
        columns = "started, ended, source, tool, matrix, requested, judged_here, judged_there"
        return [Run(*row) for row in self._rows(f"select {columns} from run")]

    def mask_key(self) -> bytes:
        """The secret behind the pseudonyms of this database."""
        key = next((key for (key,) in self._rows("select key from mask")), None)
        if not isinstance(key, bytes) or not 16 <= len(key) <= 64:
            raise Unopened(f"{self._path} cannot be read as a fleet database: it has no pseudonym key")
        return key

    def nodes(self) -> list[Node]:
        """All nodes, by id."""
        if self._nodes is not None:
            return self._nodes
        columns = "id, node, state, reason, model, gpus, memory_gib, arch, "
        columns += "verdict, received, clock_off_s, tool, matrix, judged"
        cohorts: dict[tuple[Any, ...], Cohort] = {}
        texts: dict[Any, Any] = {}  # one text for all nodes that have it: half the memory of 100,000 nodes
        self._nodes = []
        for row in self._rows(f"select {columns} from node order by id"):
            r = [texts.setdefault(value, value) if type(value) is str else value for value in row[2:]]
            about = tuple(r[2:6])
            cohort = None if about[0] is None else cohorts.setdefault(about, Cohort._make(about))
            self._nodes.append(Node._make((*row[:2], *r[:2], cohort, *r[6:])))
        return self._nodes

    def made(self) -> float:
        """When the reports were made, as they say, corrected by what is known of the nodes' clocks: their median, in
        seconds since 1970 UTC; 0 if none says so. When they came is not it: a copied spool is as new as the copy."""
        rows = self._rows("select generated_at, clock_off_s from node where state = 'answered'")
        times = sorted(made - (off or 0.0) for text, off in rows if (made := seconds_of(str(text))))
        return times[len(times) // 2] if times else 0.0

    def findings(self) -> Iterator[NodeFinding]:
        """The root findings of all nodes, those of a node in its report's order; without info remarks."""
        fixes: dict[int, Fix] = {}
        rows = self._rows(
            "select f.node, n.node, i.value, s.value, l.value, f.subject, t.value, f.users, f.fix, x.content, "
            "(select min(g.gpu) from gpu_row g where g.node = f.node and f.subject in (g.uuid, g.pci)) "
            "from finding_row f join node n on n.id = f.node join text i on i.id = f.id join text s on s.id = f.status "
            "join text l on l.id = f.layer join text t on t.id = f.title left join fix x on x.id = f.fix "
            "order by f.node, f.number"
        )
        for node, name, id_, status, layer, subject, title, users, number, content, gpu in rows:
            if number is not None and number not in fixes:
                fixes[number] = self._decoded(_FIX, content)
            if gpu is None and subject and (lost := _LOST_GPU.search(title)):
                gpu = int(lost[1])
            yield NodeFinding(node, name, id_, status, layer, subject, title, "", bool(users), fixes.get(number), gpu)

    def decisions_of(self, name: str, checks: Collection[str]) -> dict[str, Decision]:
        """Check id to what it says of the node's report, also where another finding is its cause. Raises Refusal if the
        report is damaged."""
        from .decided import decisions_of  # judges: what only reads a database does not load the checks

        return decisions_of(self._path, name, checks)

    def refused(self) -> list[Refused]:
        return [Refused(*row) for row in self._rows("select file, line, reason from refused order by rowid")]

    def remarks(self) -> list[tuple[str, str, str]]:
        """(kind, detail, node) of notes about nodes in addition to their findings, in that order."""
        return list(self._rows("select distinct kind, detail, node from remark order by kind, detail, node"))

    def links(self) -> list[LinkRow]:
        """The pairs of nodes that measured the link between them, in the order of their rounds."""
        columns = "round, turn, node, partner, switch, partner_switch, figure, value, unit, reason"
        rows = [LinkRow(*row) for row in self._rows(f"select {columns} from link order by round, turn, rowid")]
        for row in rows:
            texts = (row.node, row.partner, row.switch, row.partner_switch, row.figure, row.unit, row.reason)
            numbers = type(row.round) is int is type(row.turn) and isinstance(row.value, (float, int, type(None)))
            if not numbers or not all(isinstance(text, str) for text in texts):
                raise self._damaged("a row of links has values of the wrong kind")
        return rows

    def duplicates(self) -> list[Duplicate]:
        """What came twice, machines under one name, and GPUs on several nodes."""
        found = [
            Duplicate(kind, tuple(str(nodes).split(",")), detail)
            for kind, nodes, detail in self._rows("select kind, nodes, detail from duplicate order by rowid")
        ]
        twice = self._rows(
            "select g.uuid, n.node from gpu_row g join node n on n.id = g.node where g.uuid in "
            "(select uuid from gpu_row where uuid is not null group by uuid having count(distinct node) > 1) "
            "order by g.uuid, n.id"
        )
        by_uuid: dict[str, list[str]] = {}
        for uuid, name in twice:
            by_uuid.setdefault(uuid, []).append(name)
        return found + [Duplicate("uuid", tuple(names), uuid) for uuid, names in by_uuid.items()]

    def value_counts(self, cohort: Cohort) -> Iterator[ValueCount]:
        """Each fact that nodes of a cohort have, by path; those that differ by nature are not stored as facts."""
        for whose in ("f.gpu < 0", "f.gpu >= 0"):
            yield from self._counts(cohort, whose)

    def nodes_with(self, path: str, value: str, cohort: Cohort, among: Collection[int] | None = None) -> list[With]:
        """The nodes of a cohort with this value of a fact; `among`: only of these, by id."""
        return self._with(path, "v.value = ?", (value,), cohort, among)

    def nodes_without(self, path: str, cohort: Cohort) -> list[With]:
        """The nodes of a cohort that could not read a fact, and said so."""
        return self._with(path, "s.value is null", (), cohort)

    def figures(self, cohort: Cohort) -> list[str]:
        """The figures that were measured on nodes of a cohort, by name."""
        rows = self._rows(
            "select distinct t.value from figure_slot s join text t on t.id = s.figure where s.list in (select "
            f"distinct r.slots from figure_row r join node n on n.id = r.node where {_COHORT}) order by t.value",
            cohort,
        )
        return [name for (name,) in rows]

    def values(self, cohort: Cohort, figures: Collection[str]) -> Iterator[tuple[str, Measured]]:
        """All values of some figures in a cohort, each with its figure; a node and repeat at a time, by node."""
        slots = self._slots(figures)
        rows = self._rows(
            "select r.node, r.repeat, r.slots, r.value from node n join figure_row r on r.node = n.id "
            f"where {_COHORT} order by r.node, r.repeat", cohort,
        )  # fmt: skip
        for node, repeat, number, array in rows:
            numbers = self._decoded(_ARRAY, array)
            try:
                for name, unit, own, pick in slots.get(number, ()):
                    yield name, Measured(node, own, pick(numbers), unit, repeat)
            except IndexError:
                raise self._damaged("a row of measurements is truncated") from None

    def _slots(self, figures: Collection[str]) -> dict[int, list[Figure]]:
        """List of slots to the figures in it, in the order of `figures`."""
        positions: dict[tuple[int, str], tuple[str, bool, dict[int, int]]] = {}
        rows = self._rows(
            "select s.list, t.value, u.value, s.own, s.gpu, s.position from figure_slot s join text t on t.id = "
            "s.figure join text u on u.id = s.unit"
        )
        for number, name, unit, own, gpu, position in rows:
            positions.setdefault((number, name), (unit, bool(own), {}))[2][gpu] = position
        found: dict[int, list[Figure]] = {}
        for (number, name), (unit, own, of_gpu) in positions.items():
            if name not in figures:
                continue
            try:
                found.setdefault(number, []).append(Figure(name, unit, own, picker(of_gpu)))
            except ValueError as error:
                raise self._damaged(error) from None
        return found

    def gpu_kinds(self, cohort: Cohort) -> list[tuple[GpuKind, int]]:
        """What the GPUs of a cohort are compared within, with how many of each there are."""
        rows = self._rows(
            "select g.power_limit_w, g.link, g.model, ifnull(l.value, ''), ifnull(m.value, ''), g.number from "
            "(select g.power_limit_w, g.link, g.model, count(*) as number from gpu_row g join node n on n.id = g.node "
            f"where {_COHORT} group by g.power_limit_w, g.link, g.model) g "
            "left join text m on m.id = g.model left join text l on l.id = g.link order by g.number desc",
            cohort,
        )
        return [(GpuKind(*row[:5]), row[5]) for row in rows]

    def gpus_of(self, cohort: Cohort, kind: GpuKind) -> list[tuple[int, int]]:
        """Node and index of the GPUs of a kind."""
        return list(self._rows(
            "select g.node, g.gpu from gpu_row g join node n on n.id = g.node where g.power_limit_w is ? and "
            f"g.link is ? and g.model is ? and {_COHORT}", (*kind[:3], *cohort),
        ))  # fmt: skip

    def _counts(self, cohort: Cohort, whose: str) -> Iterator[ValueCount]:
        """Nodes with the same sets of facts are counted together, so that each set is looked into once."""
        alike: Counter[tuple[int, ...]] = Counter()
        rows = self._rows(
            "select f.list, f.facts, r.nodes from (select r.facts as list, count(*) as nodes from report r join node n "
            f"on n.id = r.node where {_COHORT} group by r.facts) r join report_fact f on f.list = r.list where {whose} "
            "order by f.list",
            cohort,
        )
        for (_, nodes), some in groupby(rows, key=lambda row: (row[0], row[2])):
            alike[tuple(sorted({number for _, number, _ in some}))] += nodes
        if not alike:
            return
        numbers = sorted({number for one in alike for number in one})
        holders: dict[int, list[tuple[int, ...]]] = {}
        for one in alike:
            for number in one:
                holders.setdefault(number, []).append(one)
        self._wanted(numbers)
        facts = self._rows(
            "select p.value, s.value, v.value, s.facts from set_fact s join wanted w on w.id = s.facts "
            "join text p on p.id = s.path left join text v on v.id = s.value order by p.value, s.path"
        )
        path, of_path = None, dict[str | None, set[tuple[int, ...]]]()
        for name, _, value, number in facts:
            if name != path and path is not None:
                yield _count(path, of_path, alike)
                of_path = {}
            path = name
            of_path.setdefault(value, set()).update(holders[number])
        if path is not None:
            yield _count(path, of_path, alike)

    def _wanted(self, numbers: list[int]) -> None:
        self._db.execute("create temp table if not exists wanted (id integer primary key)")
        self._db.execute("delete from wanted")
        self._db.executemany("insert into wanted values (?)", ((number,) for number in numbers))

    def _with(
        self, path: str, condition: str, values: tuple[str, ...], cohort: Cohort, among: Collection[int] | None = None
    ) -> list[With]:
        only = "" if among is None else f" and n.id in ({', '.join(str(int(node)) for node in among)})"
        rows = self._rows(
            "select n.id, n.node, f.gpu from report_fact f join report r on r.facts = f.list join node n on n.id = "
            "r.node where f.facts in (select s.facts from set_fact s left join text v on v.id = s.value where s.path = "
            f"(select id from text where value = ? limit 1) and {condition}) and {_COHORT}{only} order by n.id, f.gpu",
            (path, *values, *cohort),
        )
        found: dict[tuple[int, str], list[int]] = {}
        for node, name, gpu in rows:
            found.setdefault((node, name), []).append(gpu)
        return [With(node, name, tuple(gpu for gpu in gpus if gpu >= 0)) for (node, name), gpus in found.items()]

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Raises Unopened if the file is damaged."""
        try:
            # `yield from` would close the cursor, too, and cannot once its database is closed: an error after a Ctrl-C.
            for row in self._db.execute(query, tuple(values)):  # noqa: UP028
                yield row
        except DAMAGE as error:
            raise self._damaged(error) from None

    def _decoded(self, decoder: Any, text: str) -> Any:
        try:
            return decoder.decode(text)
        except (msgspec.DecodeError, UnicodeError, TypeError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: object) -> Unopened:
        return Unopened(f"{self._path} cannot be read as a fleet database: {error}")


def _count(path: str, values: dict[str | None, set[tuple[int, ...]]], alike: Counter[tuple[int, ...]]) -> ValueCount:
    counts = {value: sum(alike[one] for one in holders) for value, holders in values.items() if value is not None}
    read = set().union(*(holders for value, holders in values.items() if value is not None))
    unread = values.get(None, set()) - read
    return ValueCount(path, counts, sum(alike[one] for one in read), sum(alike[one] for one in unread))
