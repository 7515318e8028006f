"""What `prove --links` says of GPUs: NCCL's own log, variants without peer-to-peer and NVLS, DDP with and without them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.findings.measured_ddp import less_percent, links_percent, sent_mib
from doctor.patient.collective_operations import bus_factor
from doctor.patient.collective_transport import ways
from doctor.proof.collectives import too_few, variants
from doctor.proof.plan import Links, Plan
from doctor.report.measured_links import ddp_words, variant_words
from doctor.snapshot import NOT_ASKED, CollectiveRate, DdpRun, LinkGroup, Measured, Missing, StepEnd

from ..healthy import healthy
from ..judging import run
from ..rows import for_each

PLAN = Plan(level="links", device="cuda", total_s=300.0, commands={})
WITH = DdpRun(
    backend="nccl", ranks=2, steps=200, batch=4, parameters=124_439_808, seconds=101.9003, alone_seconds=98.0,
    right=True,
)  # fmt: skip
WITHOUT = DdpRun(
    backend="nccl", ranks=2, steps=200, batch=4, parameters=124_439_808, seconds=131.4367, alone_seconds=98.0,
    right=True, variant="no-p2p",
)  # fmt: skip


def test_what_nccl_writes_of_its_ways() -> None:
    """Lines in the form that NCCL 2.10 to 2.27 write them with NCCL_DEBUG=INFO."""
    p2p = "host:106:121 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\nhost:106:121 [0] NCCL INFO Connected NVLS tree"
    switch = (
        "h:1:2 [1] NCCL INFO NVLS comm 0x5598478a4d90 headRank 2 nHeads 8 buffSize 4194304 nvlsTotalSize 1610612736"
    )
    assert ways(switch)["in_network"] is True
    assert ways(p2p) == {"transports": ["P2P"], "interfaces": [], "in_network": True}
    old = "h:1:2 [0] NCCL INFO Channel 05 : 11[3000] -> 12[4] via SHM/direct/direct"
    assert ways(old)["transports"] == ["SHM"] and ways(old)["in_network"] is False
    net = (
        "h:1:2 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
        "h:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>\n"
        "h:1:2 [0] NCCL INFO Channel 14/0 : 15[7] -> 0[0] [send] via NET/Socket/0\n"
        "h:1:2 [0] NCCL INFO Channel 07/0 : 0[0] -> 2[0] [receive] via NET/IB/3/GDRDMA\n"
        "h:1:2 [0] NCCL INFO NVLS multicast support is not available on dev 0\n"
    )
    found = ways(net)
    assert found == {
        "transports": ["NET/IB", "NET/Socket"], "interfaces": ["docker0", "eth0"], "in_network": False,
    }  # fmt: skip
    assert ways("") == {"transports": [], "interfaces": [], "in_network": False}


def test_the_log_that_nccl_is_given() -> None:
    """In a process of its own, whose variables it sets: what a library opens by that name and writes is read."""
    program = (
        "import json, os; from doctor.patient.collective_transport import begin_log, end_log; log = begin_log();"
        "file = open(os.environ['NCCL_DEBUG_FILE'], 'w');"
        "file.write('h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\\n'); file.flush();"
        "print(json.dumps([os.environ['NCCL_DEBUG'], end_log(log), begin_log()]))"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_")}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    found = {"transports": ["P2P"], "interfaces": [], "in_network": False}
    assert json.loads(done.stdout) == ["INFO", found, -1], "what the user set is left alone"


def test_variants_are_those_that_would_differ() -> None:
    def of(env: dict[str, str] | None = None, links: Links = Links(), **group: Any) -> list[str]:  # noqa: B008
        return variants(PLAN, links, env or {}, [{"begin": "x"}, {"group": {"backend": "nccl", **group}}])

    assert of(transports=["P2P"], in_network=True) == ["no-p2p", "no-nvls"]
    assert of(transports=["P2P"]) == ["no-p2p"]
    assert of(transports=["SHM"]) == [], "it goes without peer-to-peer already"
    assert of({"NCCL_P2P_DISABLE": "1"}, transports=["P2P"]) == []
    assert of(backend="gloo") == of(links=Links(nodes=("a", "b"))) == variants(PLAN, Links(), {}, []) == []


def test_no_gpu_is_taken_twice() -> None:
    def of(device: str, proven: int, **links: Any) -> str:
        plan = Plan(level="links", device=device, total_s=300.0, commands={})
        return (too_few(plan, Links(**links), proven, lambda: ("absent", "none")) or ("", ""))[1]

    assert of("cuda", 2) == of("cuda", 2, processes=2) == of("cpu", 1) == of("cpu", 0, processes=4) == ""
    assert of("cuda", 0) == of("cuda", 0, processes=1) == of("cpu", 0) == "none"
    assert of("cuda", 2, processes=4) == "4 processes were requested, but only 2 GPUs computed correctly here"
    assert of("cuda", 1).startswith("only one GPU here; ") and of("cuda", 2, processes=1) == of("cuda", 1)
    assert of("cuda", 1, nodes=("a", "b")) == "", "two nodes with one GPU each have a link between them"
    assert of("cuda", 0, node=1, nodes=("a", "b")) == of("cuda", 0, launched={"RANK": "3"}) == ""


@for_each(
    ("end", "status"),
    [
        # torch 1.13's torchrun on an option that it does not know, and its own traceback on Python 3.11
        (StepEnd(agent="collective_speed", step="start", detail="run.py: error: unrecognized arguments"), "unknown"),
        (StepEnd(agent="collective_speed", step="start", fault="hang", detail="no answer for 60 s"), "fail"),
        (StepEnd(agent="collective_speed", step="init_process_group", detail="exit code 1"), "fail"),
    ],
)
def test_a_launcher_that_ends_before_a_rank_begins_shows_nothing(end: StepEnd, status: str) -> None:
    measured = Measured(level="links", device="cuda", ended=(end,))
    assert run("collective-failed", healthy().replace({"measured": measured}))[0] == status


@for_each(
    ("why", "status"),
    [
        (Missing("timeout", "import torch did not finish within 9 s: it was still reading"), "unknown"),
        (Missing("timeout", "the 20 s allowed for the test ran out"), "unknown"),
        (Missing("absent", "only one GPU here"), "skipped"),
        (NOT_ASKED, "skipped"),
    ],
)
def test_links_for_which_there_was_no_time_are_no_pass(why: Missing, status: str) -> None:
    for used, offered in ((NOT_ASKED, 600), (20.0, 600), (300.0, 600), (600.0, 1200), (1000.5, 2001)):
        measured = Measured(level="links", device="cpu", timeout_s=used, collective_rates=why)
        got, _, findings = run("collective-failed", healthy().replace({"measured": measured}))
        assert got == status
        assert [f.fixes[0].steps[0].command for f in findings] == [
            f"gpudoctor prove --links --device cpu --timeout {offered}" for _ in findings
        ]


def test_a_torchrun_that_lacks_a_module_gets_its_install() -> None:
    """torch 2.6.0 under Python 3.9 does not require what its torchrun imports. Other modules are not guessed at."""
    for module, fixes in (("importlib_metadata", ["install-for-torchrun"]), ("a_module_of_mine", [])):
        detail = f"ModuleNotFoundError: No module named '{module}'"
        end = StepEnd(agent="collective_speed", step="start", detail=detail)
        s = healthy().replace({"measured": Measured(level="links", device="cpu", ended=(end,))})
        status, _, (finding,) = run("collective-failed", s)
        assert (status, [fix.id for fix in finding.fixes]) == ("unknown", [*fixes, "links-again-with-log"])
        for fix in finding.fixes:
            after = s.replace(fix.steps[-1].changes)
            assert run("collective-failed", after)[0] in ("unknown", "skipped"), "only a new measurement tells"


def test_gpt2_by_ddp_on_two_titan_rtx_with_and_without_nvlink() -> None:
    """worked-numbers: 101 s against 131 s is 23 % less time; the runtime times 'samples per second' is 200, the steps."""
    assert round(less_percent(101, 131)) == 23
    assert less_percent(WITH.seconds, WITHOUT.seconds) == pytest.approx(22.5, abs=0.05)
    assert (round(WITH.steps / WITH.seconds, 3), round(WITHOUT.steps / WITHOUT.seconds, 3)) == (1.963, 1.522)
    words = ddp_words(Measured(ddp=(WITHOUT, WITH)))
    assert len(words) == 3 and words[0].startswith("DDP, 124 M parameters, 2 ranks, batch 4 each: 200 steps in 102 s")
    assert "DDP without peer-to-peer (NCCL_P2P_DISABLE=1)" in words[1]
    assert words[2].startswith("102 s instead of 131 s for 200 steps") and "22 % less time" in words[2]
    for runs in ((WITH, replace(WITHOUT, variant="no-nvls")), (WITHOUT, WITHOUT), (WITH, WITH), (WITH,)):
        assert len(ddp_words(Measured(ddp=runs))) == len(runs), "nothing else is compared"


def test_what_the_links_explain() -> None:
    assert links_percent(WITHOUT) == pytest.approx(25.4, abs=0.1)
    assert sent_mib(WITH) == pytest.approx(4 * 124_439_808 / (1 << 20)), "two ranks send all gradients once"
    fast = DdpRun(backend="gloo", ranks=2, steps=5, batch=4, parameters=1000, seconds=1.0, alone_seconds=1.1)
    assert links_percent(fast) == 0, "noise is not a gain"
    assert ddp_words(Measured()) == [] and len(ddp_words(Measured(ddp=(fast,)))) == 1


@dataclass
class At:
    """A rate of an all-reduce over eight GPUs."""

    variant: str
    bus: float
    size: int = 1 << 26

    @property
    def rate(self) -> CollectiveRate:
        algorithm = self.bus / bus_factor("all_reduce", 8)
        return CollectiveRate(
            operation="all_reduce", backend="nccl", ranks=8, bytes=self.size, us=self.size / algorithm / 1e3,
            algorithm_gb_s=algorithm, bus_gb_s=self.bus, variant=self.variant, right=True,
            in_network_gb_s=0.0 if self.variant else algorithm * bus_factor("all_reduce", 8, True),
        )  # fmt: skip


def test_sums_inside_the_switch() -> None:
    """nccl-tests pull request 239: in-network (n+1)/n, told only where NVLS is used."""
    assert bus_factor("all_reduce", 8, True) == 9 / 8
    rates = tuple(
        At(*row).rate for row in (("", 470.0), ("no-nvls", 360.0), ("no-p2p", 22.0), ("no-p2p", 9.0, 1 << 20))
    )
    words = variant_words(Measured(link_groups=(LinkGroup(backend="nccl", ranks=8),), collective_rates=rates))
    assert words[0].startswith("all-reduce of 64 MiB without peer-to-peer") and words[0].endswith(
        ", compared with 470 with it"
    )
    assert "without NVLS (NCCL_NVLS_ENABLE=0): 360 GB/s" in words[1]
    assert words[2] == "all-reduce inside the switch (NVLS): 302 GB/s, counted as (n+1)/n"
