"""gpudoctor on files of public projects: `python benchmarks/real_files.py LIST [--kind resolve] [--answers FILE]`

LIST has a line for each checkout, or git directory without a work tree: its folder, and (optional, after a blank) a
path in it. Each file goes to the command for its kind, with the machine below: `dockerfile` for Dockerfiles, compose
files and manifests, `resolve -r` for files of requirements, `topo` for pasted tables, `fit` for a model's config.json.
Prints a table: files, exit codes and seconds by kind, then what crashed or hung. --answers keeps what each command
printed, for judging by hand. Nothing of the projects is run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

MACHINE = ("--gpu", "RTX 5090", "--driver", "575")
KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("dockerfile", r"(?i)(^|/)(dockerfile[^/]*|[^/]*\.dockerfile|(docker-)?compose[^/]*\.ya?ml)$",
     ("dockerfile", "{}", *MACHINE)),
    ("kubernetes", r"(?i)(k8s|kubernetes|manifest|deploy)[^/]*/[^/]*\.ya?ml$", ("dockerfile", "{}")),
    ("resolve", (r"(?i)(^|/)((requirements|constraints)[^/]*\.txt|pyproject\.toml|setup\.cfg|Pipfile(\.lock)?|"
                r"(uv|poetry|pixi)\.lock|pixi\.toml|(conda[-_]?)?env(ironment)?[^/]*\.ya?ml|conda-lock\.ya?ml)$"),
     ("resolve", "-r", "{}", *MACHINE)),
    ("topo", r"(?i)topo[^/]*\.(txt|log)$", ("topo", "{}", "--gpu", "H100-SXM")),
    ("fit", r"(^|/)config\.json$", ("fit", "{}", "--task", "inference", "--gpus", "8xH100-80GB")),
)  # fmt: skip
"""Name, which paths, and the command; '{}' is the file."""
_MOST_S = 60
_MOST_BYTES = 4 << 20


def files(folder: Path, only: str) -> Iterator[tuple[str, bytes]]:
    """(path, content) of what a kind wants."""
    git = folder if (folder / "HEAD").is_file() else folder / ".git"
    if not git.exists():
        names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    else:
        listed = subprocess.run(
            ["git", f"--git-dir={git}", "ls-tree", "-r", "--name-only", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        )
        names = listed.stdout.splitlines()
    for name in names:
        if not any(re.search(pattern, name) for _, pattern, _ in KINDS) or (only and name != only):
            continue
        if git.exists():
            shown = subprocess.run(
                ["git", f"--git-dir={git}", "show", f"HEAD:{name}"], capture_output=True, check=False
            ).stdout
        else:
            shown = (folder / name).read_bytes()
        if 0 < len(shown) <= _MOST_BYTES:
            yield name, shown


def judged(name: str, data: bytes, command: tuple[str, ...]) -> tuple[int, float, str]:
    """(exit code, or 124 of a hang; seconds; stdout and stderr)."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / Path(name).name
        file.write_bytes(data)
        words = [str(file) if word == "{}" else word for word in command]
        begun = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "doctor", *words], capture_output=True, text=True, timeout=_MOST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return 124, float(_MOST_S), "hung"
        text = (done.stdout + done.stderr).replace(folder + "/", "")
        return done.returncode, time.perf_counter() - begun, text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("--kind", choices=[name for name, _, _ in KINDS])
    parser.add_argument("--answers", type=Path, help="a line of JSON for each file")
    flags = parser.parse_args()
    codes: dict[str, Counter[int]] = {name: Counter() for name, _, _ in KINDS}
    spent: Counter[str] = Counter()
    faults, answers = [], []
    for line in flags.list.read_text("utf-8").splitlines():
        folder, _, only = line.strip().partition(" ")
        if not folder or folder.startswith("#"):
            continue
        for name, data in files(Path(folder), only.strip()):
            kind, _, command = next(one for one in KINDS if re.search(one[1], name))
            if flags.kind not in (None, kind):
                continue
            code, seconds, text = judged(name, data, command)
            codes[kind][code] += 1
            spent[kind] += seconds
            answers.append({"project": folder, "file": name, "kind": kind, "code": code, "answer": text})
            if code not in (0, 1, 2, 3) or "Traceback" in text or "internal error" in text:
                faults.append(f"{folder} {name}: exit {code}: {text.strip().splitlines()[-1][:160] if text else ''}")
    print(
        "| kind | files | exit 0 | 1 | 2 | 3 | else | seconds each |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    for kind, found in codes.items():
        count = found.total()
        if count:
            rest = count - sum(found[code] for code in range(4))
            row = " | ".join(str(found[code]) for code in range(4))
            print(f"| {kind} | {count} | {row} | {rest} | {spent[kind] / count:.2f} |")
    print("\n".join(["", *faults]) if faults else "\nno crash, no hang")
    if flags.answers:
        flags.answers.write_text("".join(json.dumps(one) + "\n" for one in answers), "utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
