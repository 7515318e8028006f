"""Write the made pages of the documentation: `python docs/generate.py`; with --check only compare.

With --samples: write what README and the guides show of commands' outputs, by running them.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generator import checks, commands, errors, recipes  # noqa: E402
from generator.words import COMMAND  # noqa: E402

MADE = ("checks", "commands")
"""Folders of which every page is made."""


def pages() -> dict[str, str]:
    """Path below this folder to text; deterministic, so that it can be compared."""
    return {**checks.pages(), **recipes.pages(), **commands.pages(), **errors.pages()}


def samples() -> int:
    """Run every command whose output is shown, and write what it prints."""
    from tempfile import TemporaryDirectory

    from tests.samples import rewrite

    with TemporaryDirectory() as folder:
        changed = rewrite(Path(folder))
    print(f"{', '.join(changed) or 'nothing'} changed")
    return 0


def main() -> int:
    """Write what differs and take away what is no page any more; 1 where --check finds either."""
    if "--samples" in sys.argv[1:]:
        return samples()
    made = pages()
    there = {str(path.relative_to(HERE)) for folder in MADE for path in (HERE / folder).glob("*.md")}
    wrong = sorted(there - set(made))
    for name, text in made.items():
        path = HERE / name
        if not path.exists() or path.read_text("utf-8") != text:
            wrong.append(name)
    if "--check" in sys.argv[1:]:
        if wrong:
            print(f"{', '.join(wrong[:5])}: not what it is made from: {COMMAND}", file=sys.stderr)
        return int(bool(wrong))
    for name in wrong:
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        if name in made:
            path.write_text(made[name], "utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
