"""What the collector and the engines hand to each other. An engine is a module with the four functions of `Engine`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

BEGINS = b"@gpudoctor1-at"
"""`@gpudoctor1-at RUN NODE`: the probe has begun there; NODE is empty where the engine gives the shell no name."""
FAILS = b"@gpudoctor1-no"
"""`@gpudoctor1-no RUN` and the version of a Python that is too old, or nothing where there is no Python; the exit code
of a gpudoctor that is installed there."""
PATH = (
    'PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"; export PATH; '
    'test -n "$HOME" || { HOME=$(getent passwd "$(id -u)" | cut -d: -f6); export HOME; }'
)
"""For a shell that a scheduler starts without these: `srun --export=NONE` gives a step no HOME."""

CHUNK = 800
"""Characters of base64 in a line of an answer: `srun --label` cuts lines at 1,024."""


class Wish(NamedTuple):
    """What the user wants examined."""

    nodes: str = ""
    """A nodeset; empty for all that the engine names by itself."""
    hostfile: str = ""
    partition: str = ""
    """Slurm's."""
    wait_s: float = 0.0
    """How long busy nodes may take to become free."""
    selector: str = ""
    """Kubernetes', as the following: labels of nodes."""
    namespace: str = ""
    """Empty for that of kubectl's context."""
    image: str = ""
    runtime_class: str = ""
    prove: bool = False
    """The nodes' GPUs are measured, so nothing else may run on them."""
    print_only: bool = False
    """Nothing will be started."""
    address: str = ""
    """Ray's: HOST:PORT; empty for the cluster of this machine."""


class Roster(NamedTuple):
    """The nodes of a run."""

    names: tuple[str, ...]
    """To examine now, or once they are free."""
    left_out: dict[str, str]
    """Node to why it is not examined."""
    source: str
    """`ssh`, `Slurm (partition gpu)`."""
    gpus: Mapping[str, int] = MappingProxyType({})
    """How many GPUs the scheduler counts on a node; without an entry it is not known."""
    own: Any = None
    """The engine's own: it gets it back with `start`."""


class Limits(NamedTuple):
    """Seconds; `retry`: how often a lost node is asked once more."""

    node_s: float
    run_s: float | None
    retry: int


class Probe(NamedTuple):
    """What runs on each node."""

    run: str
    """The name of this run, as it stands in each line of an answer."""
    command: str
    """For `/bin/sh -c`; its standard input is `script`. It has no single quote."""
    script: bytes
    node_s: float
    """How long it may take on a node."""
    installed: str = ""
    """The command that runs the nodes' own gpudoctor, as the user typed it; empty for the agent that is sent."""


Kind: TypeAlias = Literal["began", "line", "ended"]


class Event(NamedTuple):
    """What an engine saw of a node. began: its time runs from now on; line: `data` is one line of its output; ended:
    nothing more comes, and `reason` says why if that was not the end of a complete answer; `lost`: another attempt may
    help."""

    node: str
    kind: Kind
    data: bytes = b""
    reason: str = ""
    lost: bool = False


class Engine(Protocol):
    """How nodes are reached. It knows nothing of reports."""

    def nodes(self, wish: Wish) -> Roster:
        """Which nodes there are. Raises Refusal with one line before anything is started."""

    def start(self, roster: Roster, names: Collection[str], probe: Probe) -> Any:
        """Begin with these nodes, and return at once what the other two functions take. Raises Refusal."""

    def answers(self, job: Any, wait_s: float) -> Iterator[Event]:
        """What has come, after waiting at most so long for the first."""

    def stop(self, job: Any, names: Collection[str] | None = None) -> str:
        """End the probe on these nodes; on all, and all that was started for it, when no names are given. Returns what
        may be left, in one line; empty if nothing is. It may be called again."""


class PairEngine(Engine, Protocol):
    """An engine that can also run one program on two nodes."""

    def start_pairs(self, roster: Roster, pairs: Collection[tuple[str, str]], probe: Probe) -> Any:
        """Begin on these pairs, as `start`: the probe is the ranks of one program, and what they print are lines of the
        pair's first node. Raises Refusal."""

    def switches(self) -> dict[str, str]:
        """Node to its switch; empty where nothing shows them."""


def probe_for(run: str, script: bytes, node_s: float) -> Probe:
    """The probe of a run. script: for a Python's standard input."""
    begins, fails = BEGINS.decode(), FAILS.decode()
    command = (
        f'{PATH}; echo "{begins} {run} $SLURMD_NODENAME"; '
        f"P=$(command -v python3 || command -v python) || {{ echo {fails} {run}; exit 127; }}; "
        'exec "$P" -I -S -'
    )
    return Probe(run, command, script, node_s)
