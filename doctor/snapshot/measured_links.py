"""What `prove --links` measured between the ranks of a process group."""

from __future__ import annotations

from msgspec import Struct

from .fact import NOT_ASKED, Missing


class LinkGroup(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The process group: a rank is one process, with a GPU of its own where there are some."""

    backend: str
    """nccl, gloo."""
    ranks: int
    nodes: int = 1
    interface: str = ""
    """The network interface that gloo was given, or takes by itself; empty with NCCL, which chooses its own."""
    library_interface: str = ""
    """The one that gloo takes by itself: that of the address which the host's own name resolves to."""
    reaching: str = ""
    """On several nodes: the interface through which the first one is reached."""
    variant: str = ""
    """As in `CollectiveRate`."""
    transports: tuple[str, ...] = ()
    """What NCCL said that it passes data by, on any rank: P2P, SHM, NET/Socket, NET/IB."""
    interfaces: tuple[str, ...] = ()
    """The network interfaces that NCCL said it uses."""
    in_network: bool = False
    """Whether NCCL connected NVLink SHARP (NVLS): the switch sums."""


class CollectiveRate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One collective at one size, as nccl-tests counts it: median of the runs, each as slow as its slowest rank."""

    operation: str
    """all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce."""
    backend: str
    ranks: int
    nodes: int = 1
    variant: str = ""
    """no-p2p (NCCL_P2P_DISABLE=1), no-nvls (NCCL_NVLS_ENABLE=0); empty: as it is."""
    bytes: int
    """Of the whole array of a rank; for reduce-scatter, all-gather and all-to-all that is the parts of all ranks."""
    us: float
    algorithm_gb_s: float
    """bytes over time, 1e9 bytes a second."""
    bus_gb_s: float
    """The same by what a link carries: times 2(n-1)/n for all-reduce, (n-1)/n for reduce-scatter, all-gather and
    all-to-all, 1 for broadcast and reduce."""
    in_network_gb_s: float = 0.0
    """Where a switch takes part in the sum: the algorithm bandwidth times (n+1)/n; else 0."""
    right: bool | Missing = NOT_ASKED
    runs: int = 0
    spread_percent: float = 0.0
    sent_bytes: int = 0
    """What one operation sent over the first node's interface, as the kernel counted it; 0 on one node."""
    error: str = ""


class SendRate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages from one rank to another."""

    source: int
    target: int
    right: bool | Missing = NOT_ASKED
    gb_s: float
    """One way, of messages of `mib`; median."""
    latency_us: float
    """Half of the way there and back of four bytes; median."""
    mib: float = 0.0
    spread_percent: float = 0.0
    same_node: bool = True


class RankWait(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rank in a loop of the same work on all of them and an all-reduce; means of a step."""

    rank: int
    node: int = 0
    device: str
    work_ms: float
    collective_ms: float
    """In the all-reduce: long for a rank that waits for another, short for the one that is waited for."""


class DdpRun(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A small transformer in training by DistributedDataParallel, and the same steps without sums of gradients."""

    backend: str
    ranks: int
    nodes: int = 1
    variant: str = ""
    steps: int
    batch: int
    """Of each rank."""
    parameters: int
    seconds: float
    """Of all steps, on the slowest rank."""
    alone_seconds: float
    """Of as many under `no_sync`: no gradient leaves its rank."""
    right: bool | Missing = NOT_ASKED
    """Whether all ranks had the same weights at the end."""


class SumWay(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sum over all ranks in one way, with what each link carried."""

    name: str
    """gather-sum-broadcast, ring, library."""
    backend: str
    ranks: int
    nodes: int = 1
    bytes: int
    us: float
    """Median, of the slowest rank."""
    right: bool | Missing = NOT_ASKED
    links: dict[str, int] = {}
    """`0>1` to the bytes that this rank handed over for that one; empty for the library, which does not say."""
    held_bytes: int = 0
    """Of the rank that holds most: the data and what arrives beside it; 0 for the library."""
    counted_bytes: int = 0
    """What the kernel counted at the interface of the first node for one sum, all its ranks together; 0: not known."""
