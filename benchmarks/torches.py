"""`prove`, `prove --links` and `watch` under real releases of torch, each in an environment of its own.

    python benchmarks/torches.py [RELEASE[:PYTHON] ...] | python benchmarks/results.py record torches ... (its help)

Without releases, those of PAIRS and the newest on the index. Each environment takes up to 6 GB, by the packages that
torch names, and is deleted before the next is made. An interpreter is taken where uv finds one; where there is none of
that version the next older one is taken, and the table says which. A GPU is not needed: what is asked of one is
computed on the CPU by the real torch (tests/proof/gpu_on_cpu.py), so the branches that only a GPU takes run too.

A row is wrong where a sound machine gets a failure, nothing was verified, or an agent did not end by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import Version

HERE = Path(__file__).parents[1]
PAIRS = (
    ("1.13.1", "3.8"), ("2.0.1", "3.9"), ("2.1.2", "3.10"), ("2.4.1", "3.8"), ("2.6.0", "3.9"), ("2.8.0", "3.12"),
    ("2.11.0", "3.13"),
)  # fmt: skip
NEWEST = "3.14"
QUIET = ("skipped", "slow", "starved")
"""How a step may end on a machine that has little time or few cores for it."""
OLDER = ("3.13", "3.12", "3.11", "3.10", "3.9", "3.8")
ALONE = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
ALONE.pop("UV_FIND_LINKS", None)
GPU = {"name": "NVIDIA H100 80GB HBM3", "capability": [9, 0], "sms": 4, "l2_mib": 6, "free_mib": 60}
"""A small one, for the CPU computes what is asked of it."""
TRAIN = """
import time, torch
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters())
until = time.monotonic() + 8
while time.monotonic() < until:
    optimizer.zero_grad()
    model(torch.randn(512, 256)).square().mean().backward()
    optimizer.step()
"""


class Seen(NamedTuple):
    """What one program said: in short, and what is wrong with it."""

    words: str
    wrong: str


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("releases", nargs="*", metavar="RELEASE[:PYTHON]")
    flags = options.parse_args()
    pairs = [one.partition(":")[::2] for one in flags.releases] or [*PAIRS, (newest(), NEWEST)]
    rows, notes, wrong = [], [], 0
    for release, python in pairs:
        with tempfile.TemporaryDirectory(prefix="torches-") as folder:
            row, faults = judged(release, python or NEWEST, Path(folder))
        rows.append(row)
        wrong += bool(faults)
        print(row, *(f"  wrong: {fault}" for fault in faults), sep="\n", file=sys.stderr, flush=True)
        notes += [f"{release}: wrong: {fault}" for fault in faults]
    print(
        "| torch | Python | prove --quick | prove --links | watch | what a GPU would take |",
        "| --- " * 6 + "|",
        sep="\n",
    )
    print(*rows, *notes, sep="\n")
    print(f"{len(rows)} torches, {wrong} with a wrong verdict")
    return bool(wrong)


def newest() -> str:
    """The newest release that pip's index lists."""
    words = [sys.executable, "-m", "pip", "index", "versions", "torch"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return str(max(Version(one.strip(" ()")) for one in said.splitlines()[0].split()[1:]))


def judged(release: str, python: str, folder: Path) -> tuple[str, list[str]]:
    """The row of one release, and what is wrong in it."""
    prefix = folder / "env"
    found = environment(release, python, prefix)
    if isinstance(found, str):
        return f"| {release} | {python} | {found} | | | |", []
    seen = [quick(prefix), links(prefix), watched(prefix, folder), as_gpu(prefix)]
    words = " | ".join(one.words for one in seen)
    return f"| {release} | {found[0]} | {words} |", [one.wrong for one in seen if one.wrong]


def environment(release: str, python: str, prefix: Path) -> tuple[str] | str:
    """Install the release; the Python that it runs under, or why there is none."""
    if uv() is None:
        return "needs uv"
    wanted = [python, *(older for older in OLDER if Version(older) < Version(python))]
    why = "no interpreter"
    for version in wanted:
        words = [uv(), "venv", "-q", "--clear", "--python", version, prefix]
        if subprocess.run(words, env=ALONE, capture_output=True).returncode:
            continue
        why = installed(prefix, f"torch=={release}", "setuptools<80")
        if not why:
            return (version,)
    return why


def uv() -> str | None:
    """The uv of this environment, else of PATH."""
    return shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def installed(prefix: Path, *packages: str) -> str:
    """Install into the environment; why that did not work, or ''. Nothing is left of the cache."""
    cache = prefix.parent / "cache"
    words = [uv(), "pip", "install", "-q", "--cache-dir", cache, "--python", prefix / "bin/python", *packages]
    done = subprocess.run(words, env=ALONE, capture_output=True, text=True)
    shutil.rmtree(cache, ignore_errors=True)
    return (done.stderr.strip().splitlines() or ["not installed"])[-1][:80] if done.returncode else ""


def gpudoctor(*words: str | Path, env: dict[str, str] | None = None) -> tuple[dict[str, Any], float]:
    """A report, and the seconds that it took."""
    start = time.monotonic()
    argv = [sys.executable, "-m", "doctor", *map(str, words), "--format", "json"]
    done = subprocess.run(argv, cwd=HERE, capture_output=True, text=True, env=env)
    try:
        return json.loads(done.stdout), time.monotonic() - start
    except ValueError:
        return {"exit_code": done.returncode, "error": done.stderr.strip()[-300:]}, time.monotonic() - start


def faults_of(report: dict[str, Any], *wanted: str) -> str:
    """What is wrong with a report on a machine that is sound, or ''. wanted: tables of `measured` that have rows."""
    if "error" in report:
        return f"no report: {report['error']}"
    measured = report["snapshot"].get("measured", {})
    found = [f["id"] for f in report["findings"]]
    ended = [
        f"{end.get('fault', 'failed')} in {end['step']}: {end.get('detail', '')[:100]}"
        for end in measured.get("ended", [])
        if end.get("fault", "failed") not in QUIET
    ]
    missing = [name for name in wanted if not rows_of(report, name)]
    words = [f"finds {', '.join(found)}"] * bool(found) + ended + [f"no {name}" for name in missing]
    return "; ".join(words)


def rows_of(report: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A table of `measured`, or its one object; empty where it is missing, which a report writes with the reason."""
    rows = report.get("snapshot", {}).get("measured", {}).get(name) or []
    return rows if isinstance(rows, list) else [rows] * ("missing" not in rows)


def quick(prefix: Path) -> Seen:
    report, seconds = gpudoctor("prove", "--device", "cpu", "--quick", "--python", prefix)
    wrong = faults_of(report, "torch", "rates", "training")
    if not wrong and not all(one.get("right") is True for one in rows_of(report, "torch")):
        wrong = "its products are not right"
    rates = sorted({rate["what"] for rate in rows_of(report, "rates") if rate["kind"] == "matmul"})
    return Seen(
        f"exit {report['exit_code']}, {', '.join(rates)} right, {seconds:.0f} s",
        f"prove --quick: {wrong}" * bool(wrong),
    )


def links(prefix: Path) -> Seen:
    report, seconds = gpudoctor("prove", "--links", "--device", "cpu", "--timeout", "240", "--python", prefix)
    before = ""
    if module := lacking(report):  # a release whose own torchrun does not start: that must be UNKNOWN, with its install
        before = f"exit {report['exit_code']}: torchrun needs {module}; with it "
        wrong = "" if report["exit_code"] == 3 else f"a torchrun that does not start is exit {report['exit_code']}"
        if not wrong and (wrong := installed(prefix, module)) == "":
            report, seconds = gpudoctor("prove", "--links", "--device", "cpu", "--timeout", "240", "--python", prefix)
            wrong = faults_of(report, "link_groups", "collective_rates")
    else:
        wrong = faults_of(report, "link_groups", "collective_rates")
    right = {rate["operation"] for rate in rows_of(report, "collective_rates") if rate.get("right") is True}
    return Seen(
        f"{before}exit {report['exit_code']}, {len(right)} collectives right, {seconds:.0f} s",
        f"prove --links: {wrong}" * bool(wrong),
    )


def lacking(report: dict[str, Any]) -> str:
    """The package that the report's own fix installs for torchrun, or ''."""
    fixes = [fix for finding in report.get("findings", []) for fix in finding["fixes"]]
    return next((fix["title"].split()[-1] for fix in fixes if fix["id"] == "install-for-torchrun"), "")


def watched(prefix: Path, folder: Path) -> Seen:
    (folder / "train.py").write_text(TRAIN)
    out = folder / "watch.json"
    words = [
        sys.executable,
        "-m",
        "doctor",
        "watch",
        "--expect",
        "any",
        "--format",
        "json",
        "-o",
        out,
        "--",
        prefix / "bin/python",
    ]
    done = subprocess.run([*words, folder / "train.py"], cwd=HERE, capture_output=True, text=True)
    try:
        report = json.loads(out.read_text())
    except (OSError, ValueError):
        return Seen(f"exit {done.returncode}", f"watch: no report: {done.stderr.strip()[-300:]}")
    wrong = faults_of(report, "watch")
    cores = next((one.get("cpu_cores") for one in rows_of(report, "watch")), None)
    return Seen(f"exit {done.returncode}" + (f", {cores:.1f} cores" if cores else ""), f"watch: {wrong}" * bool(wrong))


def as_gpu(prefix: Path, only: str = "") -> Seen:
    """The agent of rates on a GPU that is not there; `only`: names of its steps, with commas."""
    agent = HERE / "doctor/patient/torch_speed.py"
    words = [prefix / "bin/python", HERE / "tests/proof/gpu_on_cpu.py", agent, "--device", "cuda:0", "--level", "quick"]
    env = {**os.environ, "FAKE_GPU": json.dumps(GPU), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*words, "--only", only, "--seconds", "150"], env=env, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    right = [row["product"]["right"] for row in rows if "product" in row]
    ends = [row["ended"] for row in rows if "ended" in row]
    faults = [f"{end['step']}: {end['detail'][:200]}" for end in ends if end.get("fault", "failed") not in QUIET]
    faults += ["no product"] * (not right)
    faults += [f"exit {done.returncode}: {done.stderr.strip()[-300:]}"] * bool(done.returncode) + [
        "a wrong product"
    ] * (False in right)
    return Seen(f"{right.count(True)} products right", "".join(f"as a GPU: {'; '.join(faults)}" for _ in faults[:1]))


if __name__ == "__main__":
    raise SystemExit(main())
