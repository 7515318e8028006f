"""Real requirement files, solved before and after `gpudoctor resolve -r`: `python benchmarks/requirement_files.py LIST`

LIST has a line for each file: a public repository, the path in it and a commit (`requirement_files.txt`), or the path
of a local file; and, optionally, the Python to solve for. --clones is the folder of the repositories' git directories,
OWNER+NAME or OWNER+NAME/repo; one that is missing is cloned from GitHub. Each file is solved by `uv pip compile`,
wheels alone: as it is, then with the changes that `resolve -r --format edited` writes for each machine below. Lines
for paths, repositories and other addresses are left out: only what an index has is solved.

Prints a table; exit 1 if a file that could be solved before its change cannot be solved after it. --stand-in: where
PyTorch's own index cannot be reached, one on this machine takes its place, with the builds and the requirements that
the matrix lists, and the files' other extra indexes are left out on both sides. --changes FOLDER keeps each change as
a diff, to read. Nothing is installed and nothing is built.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.torch_index import HOST, torch_index

MACHINES = (("RTX 5090", "575"), ("Tesla V100", "535"))
PYTHONS = ("3.12", "3.10")
"""If the list names none: the first for which the file can be solved."""
_APART = re.compile(
    r"^\s*(?:-e\b|--editable|\w+(?:\+\w+)?://|git\+|\.{0,2}/|[^#\n]+@\s*\w+(?:\+\w+)?://|\.\s*$|\.\[).*$", re.M
)
_INCLUDED = re.compile(r"^\s*(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)", re.M)
_OTHERS = re.compile(rf"^\s*(?:--extra-index-url|--find-links|-f)[\s=]+(?!{re.escape(HOST)})\S+.*$", re.M)
_SOLVE_S = 600


class File(Struct, frozen=True):
    """git: the repository's git directory, None for a local file."""

    label: str
    path: str
    git: Path | None = None
    commit: str = ""
    python: str = ""

    def text(self, path: str = "") -> str:
        """Of this file, or of one beside it. Raises ValueError."""
        if self.git is None:
            return (Path(self.path).parent / path if path else Path(self.path)).read_text("utf-8")
        where = str(Path(self.path).parent / path) if path else self.path
        shown = subprocess.run(
            ["git", f"--git-dir={self.git}", "show", f"{self.commit}:{where}"], capture_output=True, check=False
        )
        if shown.returncode:
            raise ValueError(shown.stderr.decode("utf-8", "replace").strip())
        return shown.stdout.decode("utf-8-sig")


def files(rows: Path, clones: Path) -> Iterator[File]:
    """Those of the list. Raises ValueError for a line that is none of its forms."""
    for row in rows.read_text("utf-8").splitlines():
        words = row.split("#")[0].split()
        if not words:
            continue
        python = words.pop() if re.fullmatch(r"3\.\d+", words[-1]) else ""
        if len(words) == 1:
            yield File(words[0], words[0], python=python)
        elif len(words) == 3:
            repository, path, commit = words
            yield File(f"{repository} {path}", path, _git(repository, clones), commit, python)
        else:
            raise ValueError(f"{row!r} is not 'REPOSITORY PATH COMMIT [PYTHON]' or 'FILE [PYTHON]'")


def _git(repository: str, clones: Path) -> Path:
    name = clones / repository.replace("/", "+")
    for one in (name / "repo", name):
        if (one / "HEAD").is_file():
            return one
    address = f"https://github.com/{repository}"
    subprocess.run(["git", "clone", "--quiet", "--bare", "--filter=blob:none", address, str(name)], check=True)
    return name


def write_files(file: File, text: str, folder: Path) -> Path:
    """`text` as the file, and what it includes, in this folder."""
    path = folder / Path(file.path).name
    path.write_text(_APART.sub("", text), "utf-8")
    for included in _INCLUDED.findall(text):
        beside = folder / included
        if "://" not in included and not beside.exists() and ".." not in included:
            beside.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(_APART.sub("", file.text(included)), "utf-8")
    return path


def solve(file: File, text: str, python: str, index: str) -> str:
    """'' if it can be solved, else why not."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_files(file, text, Path(folder))
        if index:
            for one in Path(folder).rglob("*.*"):
                one.write_text(_OTHERS.sub("", one.read_text("utf-8")).replace(HOST, index), "utf-8")
        command = [
            *(_uv(), "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:"),
            *("--index-strategy", "unsafe-best-match", "--python-version", python),
            *("--python-platform", "x86_64-manylinux_2_34"),  # glibc of Ubuntu 22.04, Debian 12 and RHEL 9
            *("--python", sys.executable, "--no-python-downloads"),  # else uv looks for that Python, on the web too
        ]
        try:
            done = subprocess.run(
                [*command, path.name], capture_output=True, text=True, timeout=_SOLVE_S, check=False, cwd=folder
            )
        except subprocess.TimeoutExpired:
            return f"not solved in {_SOLVE_S} s"
    return "" if done.returncode == 0 else " ".join((done.stderr or "failed").split())


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if not found:
        raise ValueError("uv is missing: pip install uv")
    return found


def changed(file: File, text: str, python: str, gpu: str, driver: str) -> tuple[int, str, str]:
    """(exit code, the file as `resolve -r` writes it, what it says on stderr)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(file.path).name
        path.write_text(text, "utf-8")
        machine = ["--gpu", gpu, "--driver", driver, "--os", "linux", "--arch", "x86_64", "--python", python]
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "resolve", "-r", str(path), *machine, "--format", "edited"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    return done.returncode, done.stdout, done.stderr.replace(folder + "/", "")


def judge(file: File, index: str, changes: Path | None, counts: Counter[str]) -> str:
    """The file's row of the table."""
    text = file.text()
    why = ""
    for python in (file.python,) if file.python else PYTHONS:
        why = solve(file, text, python, index)
        if not why:
            break
    else:
        counts["not solved as it is"] += 1
        return f"| {file.label} | | not solved as it is: {_short(why)} | |"
    counts["solved as it is"] += 1
    cells = []
    for gpu, driver in MACHINES:
        code, after, said = changed(file, text, python, gpu, driver)
        rows = list(difflib.unified_diff(text.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
        lines = sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)
        if code == 2 or not after:
            cell = f"not changed: {_short(said)}"
            counts["cannot be changed"] += 1
        elif not rows:
            cell = "nothing fits" if "no replacement fits" in said else "stays"
            counts[cell] += 1
        else:
            failed = solve(file, after, python, index)
            cell = f"+{lines[0]} -{lines[1]}, " + (f"**not solved**: {_short(failed)}" if failed else "solved")
            counts["changed, not solved" if failed else "changed and solved"] += 1
        cells.append(cell)
        if changes:
            name = re.sub(r"[^\w.-]+", "_", f"{file.label} {gpu}")
            (changes / f"{name}.diff").write_text("\n".join([f"exit {code}, Python {python}: {cell}", *rows, said]))
    return f"| {file.label} | {python} | {' | '.join(cells)} |"


def _short(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")[:200]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("--clones", type=Path, default=Path("clones"), help="folder of the git directories")
    parser.add_argument("--stand-in", action="store_true", help="an index from the matrix in place of PyTorch's own")
    parser.add_argument("--changes", type=Path, help="folder for the changes as diffs")
    flags = parser.parse_args()
    counts: Counter[str] = Counter()
    if flags.changes:
        flags.changes.mkdir(parents=True, exist_ok=True)
    try:
        print("| file | Python |", *(f"{gpu}, driver {driver} |" for gpu, driver in MACHINES))
        print("| --- | --- | --- | --- |", flush=True)
        with torch_index(flags.stand_in) as index:
            for file in files(flags.list, flags.clones):
                print(judge(file, index, flags.changes, counts), flush=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    solved = counts.pop("solved as it is")
    print(f"\n{solved} files solved as they are; " + "; ".join(f"{key} {value}" for key, value in counts.items()))
    return 1 if counts["changed, not solved"] else 0


if __name__ == "__main__":
    sys.exit(main())
