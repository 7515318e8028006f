"""Write errors.md, rules.md and gpudoctor.1, which are made and committed: `python docs/generate.py`.

With --check only compare. With --samples: write what README and the guides show of commands' outputs, by running them,
and the pictures of them (`pictures.py`).
The pages of checks and commands are no files: the build of the site makes them (`hook.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generator import errors, manual, recipes  # noqa: E402
from generator.words import COMMAND  # noqa: E402


def pages() -> dict[str, str]:
    """Path below this folder to text; deterministic, so that it can be compared."""
    return {**recipes.pages(), **errors.pages(), **manual.pages()}


def samples() -> int:
    """Run every command whose output is shown, and write what it prints."""
    from tempfile import TemporaryDirectory

    import pictures

    from tests.samples import rewrite

    with TemporaryDirectory() as folder:
        changed = [*rewrite(Path(folder)), *pictures.rewrite()]
    print(f"{', '.join(changed) or 'nothing'} changed")
    return 0


def main() -> int:
    """Write what differs; 1 where --check finds such a page."""
    if "--samples" in sys.argv[1:]:
        return samples()
    made = pages()
    wrong = [
        name for name, text in made.items() if not (HERE / name).exists() or (HERE / name).read_text("utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        if wrong:
            print(f"{', '.join(wrong)}: not what it is made from: {COMMAND}", file=sys.stderr)
        return int(bool(wrong))
    for name in wrong:
        (HERE / name).write_text(made[name], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
