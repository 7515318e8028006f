"""What `prove --links` finds: wrong data, ranks that fail or wait, slow pairs, host memory, the wrong interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.judge import load_all
from doctor.snapshot import (
    CollectiveRate,
    EnvVar,
    GpuPair,
    LinkGroup,
    Missing,
    RankWait,
    SendRate,
    Snapshot,
    StepEnd,
)

from ..cli.command import gpudoctor, save
from ..judging import ids, run
from ..proof.stories import assert_every_fix_is_looked_at_again, machine, proven
from ..rows import for_each

IDS = (
    "collective-failed", "rank-waits-for-another", "rank-link-slow", "nccl-without-peer-to-peer",
    "ranks-meet-on-wrong-interface",
)  # fmt: skip
RATE = CollectiveRate(
    operation="all_reduce", backend="nccl", ranks=4, bytes=1 << 26, us=300.0, algorithm_gb_s=223.0, bus_gb_s=335.0,
    right=True,
)  # fmt: skip
SENDS = tuple(
    SendRate(source=a, target=b, gb_s=300.0 + a, latency_us=9.0, right=True)
    for a in range(4)
    for b in range(4)
    if a != b
)
WAITS = tuple(RankWait(rank=n, device=f"cuda:{n}", work_ms=2.0, collective_ms=0.2) for n in range(4))


def linked(group: dict[str, Any] | None = None, **measured: Any) -> Snapshot:
    """A sound machine whose links were measured."""
    about = {"backend": "nccl", "ranks": 4, "transports": ("P2P",), **(group or {})}
    rows = {"collective_rates": (RATE,), "sends": SENDS, "rank_waits": WAITS, **measured}
    return proven("h100", link_groups=(LinkGroup(**about),), **rows)


def on_cpu(**group: Any) -> Snapshot:
    """The same on the CPU: slow pairs, a rank that waits."""
    waits = (replace(WAITS[0], device="cpu", work_ms=9.0), *(replace(w, device="cpu") for w in WAITS[1:]))
    sends = (replace(SENDS[0], gb_s=1.0), *SENDS[1:])
    about = {"backend": "gloo", "transports": (), "interface": "lo", "library_interface": "lo", **group}
    return linked(about, rank_waits=waits, sends=sends)


def one(check: str, s: Snapshot, **facts: Any) -> Any:
    """The finding of this check, which is the only one of all links."""
    assert [name for name in ids(s) if name in IDS] == [check]
    (finding,) = run(check, s)[2]
    assert {name: finding.facts[name] for name in facts} == facts
    assert_every_fix_is_looked_at_again(s, finding)
    return finding


def test_sound_links_find_nothing() -> None:
    assert not set(ids(linked())) & set(IDS)
    assert not set(ids(on_cpu())) & set(IDS), "on the CPU ranks share cores and memory"
    assert [run(name, linked())[0] for name in IDS] == ["pass"] * 4 + ["skipped"]
    assert {run(name, machine("h100"))[0] for name in IDS} == {"skipped"}
    asked_again = linked().replace({"measured.level": Missing("recheck")})
    assert {run(name, asked_again)[0] for name in IDS} == {"unknown"}


@for_each(
    ("measured", "words"),
    [
        ({"collective_rates": (replace(RATE, right=False),)}, "receive wrong data over NCCL"),
        ({"sends": (replace(SENDS[0], right=False), *SENDS[1:])}, "receive wrong data over NCCL"),
        (
            {"ended": (StepEnd(agent="collective_speed", step="all_reduce of 8 MiB", fault="hang"),)},
            "all_reduce of 8 MiB",
        ),
        (
            {"ended": (StepEnd(agent="collective_speed", step="start", device="rank 1", detail="boom"),), "sends": ()},
            "over NCCL fails (start, rank 1)",
        ),
        (
            {"ended": (StepEnd(agent="collective_speed", step="start", fault="hang"),), "sends": ()},
            "Rendezvous failed",
        ),
    ],
)
def test_ranks_that_do_not_reach_each_other_fail(measured: dict[str, Any], words: str) -> None:
    finding = one("collective-failed", linked(**measured))
    assert words in finding.title and finding.status == "fail"


def test_a_step_that_was_left_out_is_no_failure() -> None:
    end = StepEnd(agent="collective_speed", step="send", fault="skipped", detail="no time")
    assert not set(ids(linked(ended=(end,)))) & set(IDS)


def test_one_rank_lets_the_others_wait() -> None:
    late = replace(WAITS[2], work_ms=3.1, collective_ms=0.05)
    others = [replace(wait, collective_ms=1.3) for wait in WAITS]
    finding = one("rank-waits-for-another", linked(rank_waits=(*others[:2], late, others[3])), rank=2, others_ms=2.0)
    assert finding.status == "warn" and "3.1 ms on this rank and 2.0 ms on the others" in finding.detail
    alone = replace(late, collective_ms=2.0)  # slow at work, but nobody waits for it
    assert not set(ids(linked(rank_waits=(*others[:2], alone, others[3])))) & set(IDS)


def test_several_slow_ranks_are_no_single_one_and_no_equal_work() -> None:
    (about,) = [check.about for check in load_all() if check.id == "rank-waits-for-another"]
    assert about.sound == "No single rank keeps the others waiting"
    for work in ((2.0, 2.0, 4.0, 4.0), (2.0, 4.0, 4.0, 4.0), (2.0, 2.1, 2.2, 2.0)):
        waits = tuple(replace(wait, work_ms=ms) for wait, ms in zip(WAITS, work, strict=True))
        assert run("rank-waits-for-another", linked(rank_waits=waits))[0] == "pass"


def test_one_pair_of_ranks_is_slow() -> None:
    finding = one("rank-link-slow", linked(sends=(replace(SENDS[0], gb_s=11.0), *SENDS[1:])), pairs=["0 to 1"])
    assert "Messages from rank 0 to 1 reach 11 GB/s, compared with 30" in finding.title
    half = tuple(replace(send, gb_s=11.0) if send.source < 2 else send for send in SENDS)
    assert not set(ids(linked(sends=half))) & set(IDS), "so the machine is built"
    between = tuple(replace(send, gb_s=11.0, same_node=False) for send in SENDS[:6])
    assert not set(ids(linked(sends=(*between, *SENDS[6:])))) & set(IDS), "nodes are no slow pair of one node"


def test_host_memory_in_the_way() -> None:
    shm = linked({"transports": ("P2P", "SHM")})
    nvlink = shm.replace({"gpu_pairs": (GpuPair(a="a", b="b", p2p_read=0, p2p_nvlink=0),)})
    assert one("nccl-without-peer-to-peer", nvlink, nvlink=True).status == "warn"
    pcie = shm.replace({"gpu_pairs": (GpuPair(a="a", b="b", p2p_read=0),)})
    assert [finding.severity for finding in run("nccl-without-peer-to-peer", pcie)[2]] == ["info"]
    apart = shm.replace({"gpu_pairs": (GpuPair(a="a", b="b", p2p_read=1),)})
    assert run("nccl-without-peer-to-peer", apart)[0] == "skipped", "nothing lets them reach each other"
    assert run("nccl-without-peer-to-peer", linked({"variant": "no-p2p", "transports": ("SHM",)}))[0] == "skipped"


def test_the_interface_that_leads_nowhere() -> None:
    gloo = on_cpu(nodes=2, interface="eth0", library_interface="lo", reaching="eth0")
    finding = one("ranks-meet-on-wrong-interface", gloo, interfaces=["lo"], right="eth0")
    assert finding.fixes[0].steps[0].command == "export GLOO_SOCKET_IFNAME=eth0"
    docker = linked({"nodes": 2, "interfaces": ("docker0",)}, collective_rates=())
    assert "NCCL uses docker0" in one("ranks-meet-on-wrong-interface", docker).title
    chosen = gloo.replace({"host.environment": (EnvVar("GLOO_SOCKET_IFNAME", "docker0"),)})
    assert "gloo uses docker0, which does not reach" in one("ranks-meet-on-wrong-interface", chosen, right="eth0").title
    end = StepEnd(agent="collective_speed", step="init_process_group", device="rank 0", detail="Connection refused")
    refused = chosen.replace({"measured.ended": (end,)})
    assert [name for name in ids(refused) if name in IDS] == ["ranks-meet-on-wrong-interface", "collective-failed"]
    assert run("ranks-meet-on-wrong-interface", refused)[0] == "fail"
    named = gloo.replace({"host.environment": (EnvVar("GLOO_SOCKET_IFNAME", "eth0"),)})
    for sound in (
        named,
        linked({"nodes": 2, "interfaces": ("eth0", "ib0")}),
        on_cpu(nodes=2, library_interface="eth0"),
    ):
        assert not set(ids(sound)) & set(IDS)


def test_nodes_that_are_one_machine_are_sound_where_the_data_came() -> None:
    over_lo = on_cpu(nodes=2, interface="lo", library_interface="lo", reaching="lo")
    rates = (replace(RATE, nodes=2, backend="gloo"),)
    came = over_lo.replace({"measured.collective_rates": rates})
    later = StepEnd(agent="collective_speed", step="all_reduce of 64 MiB", device="rank 0", detail="out of memory")
    address = (EnvVar("MASTER_ADDR", "127.0.0.1"),)
    for sound in (came, came.replace({"measured.ended": (later,)}), came.replace({"host.environment": address})):
        assert run("ranks-meet-on-wrong-interface", sound)[0] == "pass"
    for silent in ((), Missing("not_asked")):
        unmeasured = over_lo.replace({"measured.collective_rates": silent})
        assert "gloo uses lo" in one("ranks-meet-on-wrong-interface", unmeasured).title, "nothing came: not sound"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.1.1", "localhost", "::1"])
@pytest.mark.parametrize("own", ["lo", "eth0"])
def test_an_address_that_is_each_nodes_own(address: str, own: str, tmp_path: Path) -> None:
    end = StepEnd(agent="collective_speed", step="init_process_group", device="rank 0", detail="Connection refused")
    nothing = on_cpu(nodes=2, interface=own, library_interface=own, reaching="lo").replace(
        {"measured.collective_rates": (), "host.environment": (EnvVar("MASTER_ADDR", address),)}
    )
    itself = nothing.replace({"measured.ended": (end,)})
    assert [run("ranks-meet-on-wrong-interface", case)[0] for case in (nothing, itself)] == ["warn", "fail"]
    (finding,) = run("ranks-meet-on-wrong-interface", itself)[2]
    assert finding.title == f"MASTER_ADDR is {address}, which points each node to itself"
    slurm = itself.replace({"host.environment": (EnvVar("MASTER_ADDR", address), EnvVar("SLURM_JOB_ID", "7"))})
    assert "scontrol" in run("ranks-meet-on-wrong-interface", slurm)[2][0].fixes[0].steps[0].command
    named = nothing.replace({"host.environment": (EnvVar("MASTER_ADDR", "vm"),), "measured.ended": (end,)})
    other = run("ranks-meet-on-wrong-interface", named)[2]  # Debian's `127.0.1.1 vm`: the name is right
    assert [found.subject for found in other] == ([] if own == "eth0" else ["gloo"])
    words = " ".join(gpudoctor("check", "--from", save(tmp_path, itself)).stdout.decode().split())
    assert f"MASTER_ADDR is {address}" in words and "export MASTER_ADDR=FIRST_NODE" in words
