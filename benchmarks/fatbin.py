"""The fat binary walker against cuobjdump, on real CUDA libraries from the package index.

``python benchmarks/fatbin.py [--dir CACHE] [--torch] [--cuobjdump PROGRAM] [FILE ...]``

Downloads the wheels of bitsandbytes, NCCL and cuDNN (1.1 GB; with --torch also the default torch wheel) and
cuobjdump with pip, and prints for every library that carries CUDA code: whether the entries are the same, the time of
cuobjdump, the time of the walk inside this process (median; everything from opening the file), their ratio, and the
memory of a process that only walks. cuobjdump runs once for a library, with the file in the page cache, as the walker.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path

from doctor.formats.elf import ElfError, parse_elf
from doctor.formats.fatbin import SECTIONS, Target, decode, walk
from doctor.formats.fatbin_summary import summarize
from doctor.formats.reader import FileReader

WHEELS = ("bitsandbytes", "nvidia-nccl-cu12", "nvidia-cudnn-cu12")
RUNS = 11
BIG_BYTES = 100_000_000
GOAL_RATIO, GOAL_MIB = 200, 32
LISTED = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.(sm_\d+[af]?)\.(cubin|ptx)$", re.MULTILINE)

CHILD = """
{work}
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
WALK = """
from doctor.formats.fatbin_summary import summarize
from doctor.formats.reader import FileReader
with FileReader({path!r}) as reader:
    summarize(reader.pread)
"""


def fetch(names: list[str], cache: Path) -> list[Path]:
    """The libraries (and cuobjdump) of the newest wheels of ``names``, unpacked below ``cache``."""
    unpacked: list[Path] = []
    for name in names:
        folder = cache / name
        if not folder.is_dir():
            wheels = cache / f"{name}.wheels"
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*pip, "-d", str(wheels), name], check=True, stderr=subprocess.DEVNULL)
            for wheel in wheels.glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    wanted = [m for m in archive.namelist() if ".so" in Path(m).name or m.endswith("/cuobjdump")]
                    archive.extractall(folder, wanted)
        version = next((cache / f"{name}.wheels").glob("*.whl")).name.split("-")[1]
        print(f"{name} {version}")
        unpacked += sorted(path for path in folder.rglob("*") if path.is_file())
    return unpacked


def carries_code(path: Path) -> bool:
    """Whether the file is a library with a fat binary section."""
    try:
        with FileReader(str(path)) as reader:
            return any(section.name in SECTIONS for section in parse_elf(reader.pread).sections)
    except (ElfError, OSError):
        return False


def entries_by_walker(path: Path) -> Counter[str]:
    """Entries as cuobjdump spells them: it prints family-specific machine code under the plain name."""
    found: Counter[str] = Counter()
    with FileReader(str(path)) as reader:
        for section in parse_elf(reader.pread).sections:
            if section.name in SECTIONS:
                for container in walk(reader.pread, section.offset, section.size):
                    entries = (decode(header) for header in container.headers)
                    found.update(Target(e.kind, e.arch, e.variant.replace("f", "")).name for e in entries)
    return found


def entries_by_cuobjdump(cuobjdump: Path, path: Path) -> tuple[Counter[str], float, str]:
    """Entries, seconds and, where it refuses the file, its first complaint."""
    start = time.perf_counter()
    done = subprocess.run(
        [cuobjdump, "-all", "--list-elf", "--list-ptx", path], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    found: Counter[str] = Counter()
    for name, kind in LISTED.findall(done.stdout):
        found[(name if kind == "cubin" else name.replace("sm_", "compute_")).rstrip("f")] += 1
    complaint = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
    return found, seconds, complaint.replace(str(path), path.name) if done.returncode else ""


def summarize_file(path: str) -> None:
    """The whole walk, opening the file included."""
    with FileReader(path) as reader:
        summarize(reader.pread)


def walk_seconds(path: Path) -> float:
    """Median of several whole walks, opening the file included."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        summarize_file(str(path))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def child_peak_mib(work: str) -> float:
    """Peak resident memory of a fresh interpreter that does ``work``.

    From /proc, not from getrusage: that figure starts at what the parent had when it forked.
    """
    root = str(Path(__file__).resolve().parent.parent)
    code = f"import sys; sys.path.insert(0, {root!r})" + CHILD.format(work=work)
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    return int(out) / 1024


def traced_peak_kib(path: Path) -> float:
    """Peak of Python's own allocations during one walk."""
    tracemalloc.start()
    summarize_file(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**10


def main() -> int:
    """Print the table; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description="walker against cuobjdump")
    parser.add_argument("--dir", type=Path, help="keep downloads here (default: a temporary folder)")
    parser.add_argument("--torch", action="store_true", help="also the default torch wheel (0.5 GB)")
    parser.add_argument("--cuobjdump", type=Path, help="this program instead of the newest from the package index")
    parser.add_argument("files", nargs="*", type=Path, help="libraries to compare instead of downloads")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        cache = arguments.dir or Path(temporary)
        cuobjdump = arguments.cuobjdump
        if cuobjdump is None:
            cuobjdump = next(path for path in fetch(["nvidia-cuda-cuobjdump"], cache) if path.name == "cuobjdump")
            cuobjdump.chmod(0o755)
        version = subprocess.run([cuobjdump, "--version"], capture_output=True, text=True, check=True).stdout
        print("cuobjdump", re.findall(r"V[\d.]+", version)[-1])
        libraries = arguments.files or fetch([*WHEELS, *(["torch"] if arguments.torch else [])], cache)
        return compare(cuobjdump, [path for path in libraries if carries_code(path)])


def compare(cuobjdump: Path, libraries: list[Path]) -> int:
    """One line for each library, then the goals."""
    baseline = child_peak_mib("")
    print(f"\npeak memory of an empty interpreter: {baseline:.1f} MiB (subtracted below)")
    print(
        "library                                     MB entries    same cuobjdump     walk   ratio     memory   traced"
    )
    missed = []
    for path in libraries:
        size = path.stat().st_size
        walked = entries_by_walker(path)  # also brings the headers into the page cache
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass
        listed, slow, complaint = entries_by_cuobjdump(cuobjdump, path)
        fast = walk_seconds(path)
        memory = child_peak_mib(WALK.format(path=str(path))) - baseline
        same = "refused" if complaint else "yes" if walked == listed else "NO"
        print(
            f"{path.name:40s} {size / 1e6:5.0f} {walked.total():7d} {same:>7s} {slow:7.2f} s "
            f"{fast * 1000:6.2f} ms {slow / fast:7.0f} {memory:6.1f} MiB {traced_peak_kib(path):4.0f} KiB"
        )
        if complaint:
            print(f"    {complaint}")
        if same == "NO":
            print(f"    only walker: {dict(walked - listed)}, only cuobjdump: {dict(listed - walked)}")
            missed.append(f"{path.name}: entries differ")
        if size > BIG_BYTES and not complaint and slow / fast < GOAL_RATIO:
            missed.append(f"{path.name}: less than {GOAL_RATIO} times faster")
        if memory > GOAL_MIB:
            missed.append(f"{path.name}: more than {GOAL_MIB} MiB")
    print(f"goals: same entries; {GOAL_RATIO} times faster above {BIG_BYTES // 10**6} MB; below {GOAL_MIB} MiB")
    print("\n".join(f"MISSED {line}" for line in missed) or "all met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
