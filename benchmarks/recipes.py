"""What `gpudoctor dockerfile` finds in Dockerfiles, compose files and manifests of public projects, by rule.

    python benchmarks/recipes.py FOLDER...

Each folder is a checkout, or a git directory without a work tree. Nothing of them is run. Prints how many files were
judged, how many could not be, and each fault with its file and line: read them, a false one is a fault of the rule.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from compat_matrix import Matrix
from doctor.images.recipes import read_recipe, rules
from doctor.images.recipes.instructions import Unparsed

WANTED = re.compile(
    r"(?i)(^|/)(dockerfile[^/]*|[^/]*\.dockerfile|(docker-)?compose[^/]*\.ya?ml)$|"
    r"(deploy|k8s|manifest|pod|gpu|job|inference|server)[^/]*\.ya?ml$"
)
NOT = re.compile(r"(?i)templates/|helm/|\.github|\.(txt|py|md)$")
BESIDE = re.compile(r"(?i)requirements[^/]*\.txt$")
MOST = 90
"""Files of one project."""


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """(path, content) of recipes and requirement files."""
    git = folder if (folder / "HEAD").is_file() else folder / ".git"
    if not git.exists():
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()
        return
    base = ["git", f"--git-dir={git}"]
    names = subprocess.run([*base, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        if (WANTED.search(name) and not NOT.search(name)) or BESIDE.search(name):
            shown = subprocess.run([*base, "show", f"HEAD:{name}"], capture_output=True, check=False)
            yield name, shown.stdout


def main() -> int:
    if not sys.argv[1:]:
        print(__doc__)
        return 2
    matrix, table = Matrix.load(), rules()
    judged, left, found = 0, Counter[str](), Counter[str]()
    for folder in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as made:
            root, recipes = Path(made), []
            for name, data in files(folder):
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                recipes += [path] if WANTED.search(name) and not NOT.search(name) else []
            for path in recipes[:MOST]:
                try:
                    recipe = read_recipe(path, matrix, {})
                except Unparsed as error:
                    left[re.sub(r".*?: ", "", str(error))[:60]] += 1
                    continue
                judged += 1
                for fault in recipe.faults:
                    found[f"{table[fault.rule].status} {fault.rule}"] += 1
                    if table[fault.rule].status != "info":
                        print(f"{path.relative_to(root)}:{fault.line} [{fault.rule}] {fault.detail}")
    print(f"\n{judged} files judged; not judged: {sum(left.values())} ({dict(left.most_common(4))})")
    for rule, count in found.most_common():
        print(f"{count:5} {rule}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
