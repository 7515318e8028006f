"""Until when a child may stand still, and whether it still moves: slow is not broken (patient/movement.py)."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ..patient.movement import FAULTS, TIMES, WINDOW_S, WORDS, Look, look, waited_s, waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..patient.movement import Late, Waits


_HANGS_S, _HANGS = 4.0, 0.5
"""So long one that hangs has stood still at least, of its own time: in seconds, and as a share of all its time."""
_LACKING_S = 0.05
"""So much of its own time makes no difference."""


class Deadline:
    """Of one child. `deadline` is a time of the monotonic clock: a child that stands still is ended then. One that
    still moves goes on until `limit`, and `on_wait` hears what it waits for.

    What it waited for a core is not its own time, nor is what it took for earlier answers that of its last call: it
    gets both once more, until `limit`.
    """

    def __init__(self, deadline_s: float, patience_s: float = 0.0) -> None:
        self.started = self.since = self._counted = monotonic()
        self._deadline = self.started + deadline_s
        self._span_s = deadline_s
        self._waited_s = 0.0
        self.limit = self.started + max(deadline_s, patience_s)
        self.pid = 0
        self.readings: list[Look] = []
        self.waits: Waits = ""
        self.on_wait: Callable[[str], None] | None = None

    @property
    def deadline(self) -> float:
        """Until when it may stand still."""
        return self._deadline

    @deadline.setter
    def deadline(self, time: float) -> None:
        self._deadline, self.since, self.readings = time, monotonic(), []
        self._counted, self._span_s, self._waited_s = self.since, time - self.since, waited_s(self.pid)

    def own_s(self, now: float) -> float:
        """Of the time since its deadline was set, what it did not wait for a core."""
        return now - self._counted - (waited_s(self.pid) - self._waited_s)

    @property
    def late(self) -> Late:
        """The fault of one that is ended at its deadline."""
        return FAULTS[self.waits]

    @property
    def awaited(self) -> str:
        """What it was at when it was looked at last; empty if it stood still."""
        return WORDS[self.waits] if self.waits else ""

    def next_look(self) -> float:
        """When it is to be looked at again: before its deadline now and then."""
        window = self.window()
        first = self._deadline - window
        return max(first, self.readings[-1].time + window / TIMES) if self.readings else first

    def window(self) -> float:
        """Seconds before the deadline in which it is looked at."""
        return min(WINDOW_S, (self._deadline - self.since) / 2)

    def look(self, now: float) -> None:
        """Look whether it moves."""
        self.readings.append(look(self.pid, now))

    def may_go_on(self, now: float, step: str | None, silent_s: float) -> bool:
        """At its deadline: whether it still moves, and there is time left for it. `step`: what it began last;
        `silent_s`: how long ago."""
        self.waits = waits(self.readings, step)
        if not self.waits:
            own_s = self.own_s(now)
            still_s = min(own_s, silent_s)
            least_s = min(_HANGS_S, _HANGS * self._span_s)
            enough = now + self._span_s - still_s <= self.limit
            lacking_s = (self._span_s if enough else least_s) - still_s
            if now < self.limit and lacking_s > _LACKING_S:
                self._deadline, self.since, self.readings = min(self.limit, now + lacking_s), now, []
                return True
            if still_s < least_s:  # with the time that it waited for a core it might have stood still long enough
                waited_s = now - self._counted - own_s
                self.waits = "starved" if still_s + waited_s >= least_s else "answering"
        if not self.waits or now >= self.limit:
            return False
        window = self.window()
        self._deadline, self.since = min(self.limit, now + window), now - window  # the next window begins at once
        self.readings = self.readings[-1:]
        if self.on_wait is not None:
            self.on_wait(WORDS[self.waits].rpartition(": ")[2])
        return True


def stuck(pid: int, proc: str = "/proc") -> str | None:
    """The kernel function of a process that nothing can end (state D; '' where it is hidden); None for others."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as stream:
            state = stream.read(4096).rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return None
    if state != b"D":
        return None
    try:
        with open(f"{proc}/{pid}/wchan", encoding="ascii", errors="replace") as stream:
            return "".join(c for c in stream.read(200) if c.isalnum() or c in "_.").lstrip("0")
    except OSError:
        return ""
