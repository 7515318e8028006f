"""`prove --links` over two 'nodes': network namespaces with a shaped link, whose interfaces count the bytes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .namespaces import ADDRESSES, BURST, joined, sent
from .proving import command

RATE_MBIT = 400


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[str, str]]:
    with joined(RATE_MBIT) as names:
        yield names


def on_both(
    nodes: tuple[str, str], with_torch: Path, *words: str, **more: str
) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """The first node's report, and how the second one's command ended."""
    shared = ("prove", "--links", "--device", "cpu", "--nproc", "1", "--nodes", ",".join(ADDRESSES))
    argv = command(*shared, "--python", str(with_torch), *words)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GLOO_", "NCCL_"))} | more
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": env}
    second = subprocess.Popen(["ip", "netns", "exec", nodes[1], *argv], **pipes)
    first = subprocess.Popen(["ip", "netns", "exec", nodes[0], *argv, "--format", "json"], **pipes)
    out, errors = first.communicate(timeout=200)
    quiet, said = second.communicate(timeout=60)
    assert f"on {ADDRESSES[1]}: gpudoctor prove --links --nodes" in errors, errors
    return json.loads(out), subprocess.CompletedProcess(argv, second.returncode, quiet, said)


@pytest.mark.netns
def test_bus_bandwidth_is_what_the_interface_counts(nodes: tuple[str, str], with_torch: Path) -> None:
    before = sent(nodes[0], 0)
    report, second = on_both(nodes, with_torch, "--teach", "--timeout", "150")
    all_sent = sent(nodes[0], 0) - before
    assert (second.returncode, second.stdout) == (0, ""), second.stderr
    measured = report["snapshot"]["measured"]
    assert measured["link_groups"][0] == {
        "backend": "gloo", "ranks": 2, "nodes": 2, "interface": "wire0", "library_interface": "lo",
        "reaching": "wire0",
    }  # fmt: skip
    assert [end for end in measured.get("ended", ()) if end.get("fault") != "skipped"] == []
    counted = 0.0
    compared = []
    for rate in measured["collective_rates"]:
        counted += rate["sent_bytes"] * rate["runs"]
        assert rate["right"] is True and rate["sent_bytes"] - BURST < 1.1 * RATE_MBIT / 8 * rate["us"], rate
        if rate["bytes"] >= 1 << 17 and rate["operation"] in ("all_reduce", "all_gather", "all_to_all", "broadcast"):
            by_interface = rate["sent_bytes"] / rate["us"] / 1e3
            assert by_interface == pytest.approx(rate["bus_gb_s"], rel=0.1), rate
            compared.append(rate["operation"])
    assert len(set(compared)) == 4 and len(compared) >= 8
    # Beside the collectives each way and each message of a pair goes at least once; a busy machine repeats less.
    counted += sum(way["counted_bytes"] for way in measured["ways"])
    counted += sum(send["mib"] * (1 << 20) for send in measured["sends"] if send["source"] == 0)
    assert 0.5 * all_sent < counted < all_sent, "what the ranks counted is what sysfs shows from outside"
    fastest = max(rate["bus_gb_s"] for rate in measured["collective_rates"])
    assert fastest > 0.7 * RATE_MBIT / 8e3
    for way in measured["ways"]:
        sent_by_first = way.get("links", {}).get("0>1", way["bytes"])
        assert way["counted_bytes"] == pytest.approx(sent_by_first, rel=0.1), way
    assert "ranks-meet-on-wrong-interface" in {finding["id"] for finding in report["findings"]}
    assert report["exit_code"] == 0, "gloo would take the loopback: a warning"
    assert all(s["right"] is True and s.get("same_node", True) is False for s in measured["sends"])
    assert {wait.get("node", 0) for wait in measured["rank_waits"]} == {0, 1}


@pytest.mark.netns
def test_the_loopback_reaches_no_other_node(nodes: tuple[str, str], with_torch: Path) -> None:
    """The cause comes first, the ranks that failed are folded under it."""
    # The ranks get 60 s of it, the rest is for two torches to start on a busy machine.
    report, second = on_both(nodes, with_torch, "--timeout", "150", GLOO_SOCKET_IFNAME="lo")
    assert (report["exit_code"], second.returncode) == (1, 1) and "gpudoctor: " in second.stderr
    first, folded = report["findings"]
    assert (first["id"], folded["id"]) == ("ranks-meet-on-wrong-interface", "collective-failed")
    assert first["status"] == "fail" and first["facts"]["right"] == "wire0"
    assert first["fixes"][0]["steps"][0]["command"] == "export GLOO_SOCKET_IFNAME=wire0"
