"""What `fleet run --links` does once the nodes have answered: pairs of them measure their links."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from ..fleet.gather import Probe, Roster
from ..guard import Refusal
from .ended import held

if TYPE_CHECKING:
    from ..fleet.gather import PairEngine
    from ..fleet.link_answer import Measured
    from ..fleet.rounds import Pair, Switches
    from ..fleet.store.growing import Growing
    from ..report.progress import Progress

PAIR_S = 300.0
"""For one pair, unless the user says it."""
_SPARE_S = 15.0
"""Between the end of the measurement and that of its job."""


def refuse_links(flags: dict[str, Any]) -> None:
    """Raises Refusal if --links cannot be done with these flags."""
    if not flags["links"]:
        return
    if flags["on"] != "slurm":
        raise Refusal(
            "--links needs --on slurm, which starts both sides of a pair; elsewhere, run gpudoctor prove --links "
            "--nodes HOST,HOST on both nodes"
        )
    if not flags["command"]:
        raise Refusal(
            "--links needs --command: the gpudoctor installed on the nodes, such as /opt/gpudoctor/bin/gpudoctor"
        )


def links(
    flags: dict[str, Any],
    engine: PairEngine,
    roster: Roster,
    growing: Growing,
    progress: Progress,
    until: float | None,
) -> list[str]:
    """Measure and store. until: when all ends, by time.monotonic. Returns lines for the user about what was not
    done."""
    from ..fleet.link_run import LinkLimits, measure_links

    names = [name for name in roster.names if growing.has_answered(name)]
    if len(names) < 2:
        return ["--links: fewer than 2 nodes answered, so no link was measured"]
    switches = engine.switches()
    pair_s = flags["timeout"] or PAIR_S
    take = _Take(growing, switches, progress)
    try:
        measure_links(engine, roster, names, switches, _probe(flags, pair_s), LinkLimits(pair_s, until), take)
    except Refusal as error:
        return [*take.lines, str(error)]
    return take.lines


def _probe(flags: dict[str, Any], pair_s: float) -> Probe:
    """The gpudoctor that is installed on the nodes, as the ranks of one program."""
    inner_s = max(pair_s / 2, pair_s - _SPARE_S)
    arguments = ["prove", "--links", "--format", "json", f"--timeout={inner_s:g}"]
    arguments += [f"--python={flags['python_']}"] if flags["python_"] else []
    from ..fleet.installed import probe_of_pair

    return probe_of_pair(secrets.token_hex(6), flags["command"], arguments, pair_s)


class _Take:
    """Where the answers of pairs go."""

    def __init__(self, growing: Growing, switches: Switches, progress: Progress) -> None:
        self._growing, self._switches = growing, switches
        self.say = progress
        self.lines: list[str] = []
        self.left = self.lines.append

    def link(self, pair: Pair, found: Measured) -> None:
        """Store it."""
        from ..fleet.kinds import LinkRow
        from ..fleet.link_answer import FIGURE, UNIT

        sides = (self._switches.get(pair.one, ""), self._switches.get(pair.other, ""))
        with held():
            self._growing.link(LinkRow(*pair, *sides, FIGURE, found.value, UNIT, found.reason))

    def store(self) -> None:
        """Keep what came."""
        with held():
            self._growing.commit()
