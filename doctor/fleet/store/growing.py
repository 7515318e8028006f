"""A database that grows while a run goes on: after each `commit` the file has all that arrived, and the nodes that did
not answer yet."""

from __future__ import annotations

import msgspec

from ..kinds import LinkRow
from ..lines import Piece
from .draft import Draft
from .judges import Judges
from .load import Filling, Loaded
from .tables import Tables, node_row

_OPEN = "the run ended before this node answered"


class Growing:
    """Takes answers and reasons; `end` when no more come."""

    def __init__(self, draft: Draft, requested: list[str], source: str) -> None:
        self._draft, self._source = draft, source
        self._tables = Tables(draft.db)
        self._filling = Filling(self._tables, Judges(1), False, requested)
        self._waiting = {name: -1 - number for number, name in enumerate(requested)}
        """Node to the id of the row that it has until it answers."""
        for name, number in self._waiting.items():
            self._tables.node(node_row(number, name, None) | {"state": "no-answer", "reason": _OPEN})

    def answered(self, node: str, received: float, report: bytes, repeat: int = 1) -> None:
        """A report as it came at `received` (seconds since 1970 UTC), the JSON of one without a verdict. repeat: which
        measurement of the node it is, from 1 on."""
        head = msgspec.json.encode({"node": node, "received": received, "repeat": repeat})[:-1]
        self._filling.add(Piece(node, 0, "", received, head + b',"report":' + report + b"}"))
        if self._filling.has_answered(node) and node in self._waiting:
            self._draft.db.execute("delete from node where id = ?", (self._waiting.pop(node),))

    def not_examined(self, node: str, received: float, reason: str) -> None:
        """Why there is no answer."""
        envelope = msgspec.json.encode({"node": node, "received": received, "reason": reason})
        self._filling.add(Piece(node, 0, "", received, envelope))
        if node in self._waiting:
            self._tables.why(self._waiting[node], "not-examined", reason)

    def has_answered(self, node: str) -> bool:
        """Whether there is a report of this node."""
        return self._filling.has_answered(node)

    def link(self, one: LinkRow) -> None:
        """What two nodes measured between them, or why there is no number."""
        self._tables.link(one)

    def commit(self) -> None:
        """Store what came; the first time, the file replaces an old one. Raises Refusal if that cannot be done."""
        self._draft.db.execute("delete from run")
        self._filling.run(self._source, 0)
        self._draft.commit()
        self._tables.db = self._draft.db

    def end(self) -> Loaded:
        """No more come: the database is finished. Raises Refusal if it cannot be written."""
        self._draft.db.execute("delete from run")
        self._draft.db.execute("delete from node where id < 0")
        loaded = self._filling.end(self._source)
        self._draft.finish()
        return loaded
