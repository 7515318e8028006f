"""Whose answer is whose: the machines under each name, which of two answers counts, and names that say nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timezone
from hashlib import blake2b
from typing import NamedTuple


class Known(NamedTuple):
    """The answer of a machine that counts so far. Times are seconds since 1970 UTC, 0 if they are unknown."""

    number: int
    received: float
    sent: float
    """By the envelope."""
    made: float
    """By the report itself."""
    uuids: bytes
    """Those of its GPUs, by `digests`."""
    digest: int
    """Of the bytes as they came: a hash that holds for this process."""
    hinted: bool = False
    """Named by a file name that stands in several folders."""
    agreeing: int = 1
    """Answers of this machine so far."""
    repeat: int = 1
    """Which measurement it is; more than 1 where the first has not come."""

    def before(self, other: Known) -> bool:
        """Whether it is the earlier one: by the collector's clock, else by the node's own, else by the files'."""
        if self.sent and other.sent:
            return self.sent < other.sent
        if self.made and other.made:
            return self.made < other.made
        return self.received < other.received

    def identity(self, other: Known) -> str:
        """Its time, by the clock by which it is compared with the other."""
        if self.sent and other.sent:
            return moment(self.sent)
        return moment(self.made if self.made and other.made else self.received)


class Machines:
    """The machines that answer under each name."""

    def __init__(self) -> None:
        self._of: dict[str, list[Known]] = {}
        self._nameless: dict[str, int] = {}

    def __len__(self) -> int:
        """Names under which something answered."""
        return sum(1 for some in self._of.values() if some)

    def of(self, name: str) -> list[Known]:
        return self._of.get(name, [])

    def all(self) -> list[tuple[str, Known]]:
        return [(name, one) for name, some in self._of.items() for one in some]

    def same(self, name: str, uuids: bytes) -> Known | None:
        """The machine that this is again. One without UUIDs is the only machine of its name, and none of several."""
        machines = self.of(name)
        found = next((one for one in machines if share(one.uuids, uuids)), None)
        if found is None and len(machines) == 1 and not (machines[0].uuids and uuids):
            found = machines[0]
        return found

    def repeats(self, name: str, digest: int) -> bool:
        """Whether the very same bytes have come under this name; they count as one answer."""
        found = next((one for one in self.of(name) if one.digest == digest), None)
        if found is not None:
            self.put(name, found._replace(agreeing=found.agreeing + 1), found)
        return found is not None

    def put(self, name: str, one: Known, instead: Known | None = None) -> None:
        machines = self._of.setdefault(name, [])
        if instead is not None:
            machines.remove(instead)
        machines.append(one)

    def nameless(self, name: str) -> bool:
        """Whether a file name turned out to name no machine; the answer that asks is counted among its answers."""
        if name in self._nameless:
            self._nameless[name] += 1
            return True
        return False

    def unname(self, name: str, more: int) -> list[int]:
        """Take a file name from the machines that it named; returns their numbers. `more`: answers not kept here."""
        hinted = [one for one in self.of(name) if one.hinted]
        self._nameless[name] = sum(one.agreeing for one in hinted) + more
        self._of[name] = [one for one in self.of(name) if not one.hinted]
        return [one.number for one in hinted]

    def names_of_nobody(self) -> dict[str, int]:
        """File names that name no machine, and the answers that came under each."""
        return self._nameless


_DIGEST = 12


def digests(uuids: Iterable[str | None]) -> bytes:
    """A tenth of the memory that the UUIDs need: of 100,000 nodes this is what counts."""
    return b"".join(blake2b(uuid.encode(), digest_size=_DIGEST).digest() for uuid in uuids if uuid)


def share(some: bytes, others: bytes) -> bool:
    """Whether both have a UUID."""
    return not _each(some).isdisjoint(_each(others))


def _each(some: bytes) -> set[bytes]:
    return {some[start : start + _DIGEST] for start in range(0, len(some), _DIGEST)}


def moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds_of(text: str) -> float:
    """Seconds since 1970 UTC of an ISO time; 0 if it is none."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return max(0.0, found.replace(tzinfo=found.tzinfo or timezone.utc).timestamp())
    except (ValueError, OverflowError):
        return 0.0
