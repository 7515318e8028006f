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


class CollectiveRate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One collective at one size, as nccl-tests counts it: median of the runs, each as slow as its slowest rank."""

    operation: str
    """all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce."""
    backend: str
    ranks: int
    nodes: int = 1
    bytes: int
    """Of the whole array of a rank; for reduce-scatter, all-gather and all-to-all that is the parts of all ranks."""
    us: float
    algorithm_gb_s: float
    """bytes over time, 1e9 bytes a second."""
    bus_gb_s: float
    """The same by what a link carries: times 2(n-1)/n for all-reduce, (n-1)/n for reduce-scatter, all-gather and
    all-to-all, 1 for broadcast and reduce."""
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
