"""What a report says of a fleet to somebody else: pseudonyms that no guess confirms, copied machines, kinds, and rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from doctor.findings import Finding, Fix, Step
from doctor.snapshot import Measured, Rate, Snapshot, known

from ..cli.command import gpudoctor
from ..rows import for_each
from . import fleets, spool

PERSON = b"gpudoctor"


def database(folder: Path, nodes: Mapping[str, Snapshot], name: str = "now") -> Path:
    """The fleet of these machines, loaded by the command."""
    lines = (spool.envelope(node, spool.report(s)) for node, s in nodes.items())
    (folder / f"{name}.jsonl").write_bytes(b"".join(lines))
    assert gpudoctor("fleet", "load", folder / f"{name}.jsonl", "-o", folder / f"{name}.db").returncode == 0
    return folder / f"{name}.db"


def text(database: Path, *flags: str) -> str:
    """What the command prints, its lines joined."""
    return " ".join(gpudoctor("fleet", "report", database, *flags).stdout.decode().split())


def rows(database: Path) -> list[dict[str, str]]:
    done = gpudoctor("fleet", "report", database, "--format", "csv")
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def masked_nodes(database: Path) -> list[str]:
    found, _ = fleets.report(database, "--mask-nodes")
    return sorted([*found["healthy"], *(one["node"] for one in found["nodes"])])


def test_pseudonyms_are_those_of_one_database_and_of_no_other(tmp_path: Path) -> None:
    nodes = {f"gpu-{n:03}": spool.machine(n) for n in range(6)}
    one, other = database(tmp_path, nodes), database(tmp_path, nodes, "other")
    assert masked_nodes(one) == masked_nodes(one)
    assert len(set(masked_nodes(one))) == 6
    assert not set(masked_nodes(one)) & set(masked_nodes(other))


def test_no_hash_of_a_name_confirms_a_guess(tmp_path: Path) -> None:
    names = ["gpu-000", "gpu-001", "gpu-002"]
    report = text(database(tmp_path, {name: spool.machine(n) for n, name in enumerate(names)}), "--mask-nodes",
                  "--format", "json")  # fmt: skip
    guesses = {
        blake2b(name.encode(), digest_size=size, person=person).hexdigest()[:10]
        for name in names for size in (5, 6, 8, 16, 32, 64) for person in (b"", PERSON)
    }  # fmt: skip
    assert "node-" in report and not [guess for guess in guesses if guess in report]


def test_the_order_of_pseudonyms_is_their_own(tmp_path: Path) -> None:
    """Else the tenth of a list would be the tenth node."""
    lines = [json.dumps({"node": f"gpu-{n:03}", "reason": "drained"}) for n in range(40)]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    gpudoctor("fleet", "load", tmp_path / "all.jsonl", "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db", "--mask-nodes")
    silent = [one["node"] for one in found["not_examined"]]
    assert len(silent) == 40 and silent == [one["node"] for one in found["nodes"]]
    again, _ = fleets.report(tmp_path / "now.db")
    assert [one["node"] for one in again["not_examined"]] == [f"gpu-{n:03}" for n in range(40)]


@for_each(
    "count, said", [(1, "n1 and n2 report the same GPU ("), (8, "n1 and n2 report the same 8 GPUs (equal UUIDs);")]
)
def test_a_copied_machine_is_one_line(tmp_path: Path, count: int, said: str) -> None:
    copied = spool.machine(1, count=count)
    made = database(tmp_path, {"n1": copied, "n2": copied, "n3": spool.machine(3, count=count)})
    found, _ = fleets.report(made)
    (pair,) = found["duplicates"]
    assert (pair["kind"], pair["nodes"], pair["gpus"]) == ("uuid", ["n1", "n2"], count)
    assert bool(pair["detail"]) == (count == 1)
    for format_ in ("text", "markdown", "html", "csv"):
        assert said in text(made, "--format", format_), format_
    assert [row["node"] for row in rows(made) if row["matter"] == "contradiction"] == ["n1", "n2"]


def test_each_pair_of_nodes_is_its_own_line(tmp_path: Path) -> None:
    nodes = {f"n{n}": spool.machine(n // 2, count=4) for n in range(4)}
    nodes |= {f"m{n}": spool.machine(9, count=4) for n in range(3)}
    found, _ = fleets.report(database(tmp_path, nodes))
    assert sorted((one["nodes"], one["gpus"]) for one in found["duplicates"]) == [
        (["m0", "m1", "m2"], 4), (["n0", "n1"], 4), (["n2", "n3"], 4),
    ]  # fmt: skip
    assert "all were kept" in text(tmp_path / "now.db")


def with_kernel(s: Snapshot, kernel: str) -> Snapshot:
    return s.replace({"host.kernel": kernel})


def test_a_split_names_the_kind_that_it_splits(tmp_path: Path) -> None:
    nodes = {f"h{n}": with_kernel(spool.machine(n, "h100"), f"6.8.{n % 2}") for n in range(10)}
    nodes |= {f"b{n}": with_kernel(spool.machine(20 + n, "a100"), f"6.11.{n % 2}") for n in range(12)}
    made = database(tmp_path, nodes)
    found, _ = fleets.report(made)
    of = {one["cohort"]: one["values"] for one in found["splits"] if one["fact"] == "host.kernel"}
    assert sorted(of.values(), key=str) == [{"6.11.0": 6, "6.11.1": 6}, {"6.8.0": 5, "6.8.1": 5}] and len(of) == 2
    said = text(made)
    for cohort, values in of.items():
        first, second = values
        count = values[first]
        assert f"Split within {cohort}, not odd: kernel {first} on {count} nodes, {second} on {count}" in said


@for_each("value, said", [(-1, "unlimited; 9 nodes have 64 KiB"), (8, "8 KiB; 9 nodes have 64 KiB")])
def test_a_limit_that_is_none_is_unlimited(tmp_path: Path, value: int, said: str) -> None:
    def made(n: int) -> Snapshot:
        return spool.machine(n).replace({"host.memlock_kib": value if n == 4 else 64})

    found = database(tmp_path, {f"n{n}": made(n) for n in range(10)})
    for format_ in ("text", "html"):
        report = text(found, "--format", format_)
        assert ("-1 KiB" not in report) and (said if format_ == "text" else said.partition(";")[0]) in report


def test_of_one_other_node_it_says_node(tmp_path: Path) -> None:
    nodes = {f"n{n}": with_vbios(spool.machine(n), "1.2.3" if n < 2 else "1.2.2") for n in range(3)}
    assert "1.2.3; 1 node has 1.2.2" in text(database(tmp_path, nodes))


def with_vbios(s: Snapshot, last: str) -> Snapshot:
    *gpus, one = known(s.gpus) or ()
    return s.replace({"gpus": (*(replace(gpu, vbios="1.2.2") for gpu in gpus), replace(one, vbios=last))})


def test_each_fact_that_changed_is_counted_once(tmp_path: Path) -> None:
    """Kernels that went both ways are one change of the kernel."""
    old = {f"n{n}": with_kernel(spool.machine(n), f"6.8.{n % 2}") for n in range(8)}
    new = {f"n{n}": with_kernel(spool.machine(n), f"6.8.{(n + (n < 5)) % 2}") for n in range(8)}
    before, now = database(tmp_path, old, "old"), database(tmp_path, new)
    said = text(now, "--since", str(before))
    assert "Changed: kernel on 5 nodes." in said
    verbose = text(now, "--since", str(before), "-v")
    assert "kernel from 6.8.0 to 6.8.1 on" in verbose and "kernel from 6.8.1 to 6.8.0 on" in verbose
    (tmp_path / "copy.db").write_bytes(now.read_bytes())
    assert ": no change." in text(now, "--since", str(tmp_path / "copy.db"))


def speeds(s: Snapshot, speed: float) -> Snapshot:
    rates = [Rate(kind="matmul", device=f"cuda:{n}", what="bf16", value=speed + n, unit="TFLOP/s") for n in range(2)]
    return s.replace({"measured": Measured(level="quick", device="cuda", rates=tuple(rates))})


def test_what_is_open_about_speed_is_said_in_sentences(tmp_path: Path) -> None:
    """Two kinds of nodes, one that looks slow, and too few of a third."""
    nodes = {
        f"g{n:02}": speeds(spool.machine(n), (480 if n == 5 else 650 if n % 3 else 700) + n / 10) for n in range(48)
    }
    nodes["few"] = speeds(spool.machine(90, "l4", 1), 100)
    said = text(database(tmp_path, nodes))
    assert "Slow for their kind: none" in said
    assert "Looks slow, not confirmed: 2 GPUs on 1 node (g05). Run gpudoctor prove on each of these nodes twice" in said
    assert 'repeats 2 and 3 ("Measure again" in docs/fleet.md).' in said
    assert (
        "Two speeds within 2x H100 80GB, bf16 matmul: " in said and " on 32 nodes, " in said and " on 16. Each" in said
    )
    assert "Too few to compare: 1 node of 1x L4 (at least 5 values are needed)." in said


def test_a_gpu_that_is_slow_in_two_of_three_measurements_is_no_healthy_one(tmp_path: Path) -> None:
    lines = [spool.envelope(f"g{n:02}", spool.report(speeds(spool.machine(n), 700 + n / 10))) for n in range(20)]
    first = spool.machine(99)
    lines += [spool.envelope("g98", spool.report(speeds(spool.machine(98), 700)))]
    lines += [spool.envelope("g99", spool.report(first))]
    for repeat in (2, 3):
        for name, number in (("g98", 98), ("g99", 99)):
            lines.append(spool.envelope(name, spool.report(speeds(spool.machine(number), 500)), repeat=repeat))
    (tmp_path / "now.jsonl").write_bytes(b"".join(lines))
    assert gpudoctor("fleet", "load", tmp_path / "now.jsonl", "-o", tmp_path / "now.db").returncode == 0
    found, code = fleets.report(tmp_path / "now.db")
    assert code == 0 and not found["slow"]
    assert [(one["node"], one["low"], one["measured"]) for one in found["once"]] == [("g98", 2, 3), ("g99", 2, 2)]
    assert {"g98", "g99"} & set(found["healthy"]) == set()
    said = text(tmp_path / "now.db")
    assert "Looks slow in 2 of 3 measurements: 2 GPUs on 1 node (g98)." in said
    assert "Looks slow, not confirmed: 2 GPUs on 1 node (g99)." in said
    assert {row["state"] for row in rows(tmp_path / "now.db") if row["node"] == "g98"} == {"warn"}
    assert gpudoctor("fleet", "report", tmp_path / "now.db", "--fail-on", "slow").returncode == 0


def failing(subject: str, title: str, *steps: Step) -> Finding:
    fix = Fix(id="board", title="Reseat the board", steps=steps)
    return Finding(id="gpu-fell-off-bus", status="fail", severity="error", layer="driver", subject=subject, title=title,
                   fixes=(fix,))  # fmt: skip


def with_findings(s: Snapshot, *found: Finding) -> bytes:
    """A report of this machine with findings of its own."""
    import msgspec

    about: dict[str, Any] = json.loads(spool.report(s))
    about |= {"verdict": "fail", "findings": msgspec.to_builtins(found)}
    return json.dumps(about).encode()


def of_findings(folder: Path, nodes: Mapping[str, Finding]) -> Path:
    lines = [spool.envelope(node, with_findings(spool.machine(n), one)) for n, (node, one) in enumerate(nodes.items())]
    (folder / "now.jsonl").write_bytes(b"".join(lines))
    gpudoctor("fleet", "load", folder / "now.jsonl", "-o", folder / "now.db")
    return folder / "now.db"


def by_hand(words: str) -> Step:
    return Step(text=words, where="provider")


def test_steps_by_hand_are_one_repair_where_their_words_are_the_same(tmp_path: Path) -> None:
    words = {"n1": "Return the board.", "n2": "Update the BIOS.", "n3": "Return the board."}
    made = of_findings(tmp_path, {node: failing("", "It is gone", by_hand(text)) for node, text in words.items()})
    found, _ = fleets.report(made)
    assert [(one["nodes"], one["fix"]["steps"][0]["text"]) for one in found["repairs"]] == [
        (["n1", "n3"], "Return the board."), (["n2"], "Update the BIOS."),
    ]  # fmt: skip


@for_each("named", ["Ask for {node} at the desk.", "Reseat the board at 0000:{n}1:00.0.",
                    "Return GPU-{n}0000000-0000-4000-8000-6d61736b6564."])  # fmt: skip
def test_what_only_one_node_is_called_keeps_no_repairs_apart(tmp_path: Path, named: str) -> None:
    steps = {f"n{n}": by_hand(named.format(node=f"n{n}", n=n)) for n in (1, 2, 3)}
    made = of_findings(tmp_path, {node: failing("", "It is gone", step) for node, step in steps.items()})
    found, _ = fleets.report(made)
    (one,) = found["repairs"]
    said = one["fix"]["steps"][0]["text"]
    assert one["nodes"] == ["n1", "n2", "n3"] and not [step.text for step in steps.values() if step.text == said]
    alone = of_findings(tmp_path, {"n1": failing("", "It is gone", steps["n1"])})
    assert fleets.report(alone)[0]["repairs"][0]["fix"]["steps"][0]["text"] == steps["n1"].text


def test_a_repair_has_the_form_of_most_of_its_nodes(tmp_path: Path) -> None:
    def step(node: int) -> Step:
        return Step(
            text="Load it.", where="host", command="modprobe nvidia-uvm" if node == 0 else "sudo modprobe nvidia-uvm"
        )

    made = of_findings(tmp_path, {f"n{n}": failing("", "first" if n == 0 else "most", step(n)) for n in range(3)})
    (one,) = fleets.report(made)[0]["repairs"]
    assert (one["title"], one["fix"]["steps"][0]["command"]) == ("most", "sudo modprobe nvidia-uvm")


def test_csv_says_which_gpu_a_failure_is_about(tmp_path: Path) -> None:
    nodes = {"n1": failing("GPU-a", "H100 (GPU 1) is gone", by_hand("a")), "n2": failing("", "All gone", by_hand("b"))}
    made = of_findings(tmp_path, nodes)
    found = {row["node"]: row["gpu"] for row in rows(made) if row["matter"] == "fail"}
    assert found == {"n1": "1", "n2": ""}
