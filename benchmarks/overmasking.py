"""What must not be masked: versions, tags of builds, hashes in versions, CUDA's paths, lists of drivers, and verdicts.

    python benchmarks/overmasking.py [--seed N] [--count N] [--show] [--logs]

Draws texts from the public cases, from ../shared/cases where that is there and from tests/text/texts, puts three
sound lines into each (sound_lines.txt, filled at random), masks it as `explain` does, and looks whether each such piece
is still there byte for byte, and whether the masked text is judged like the original. --logs instead: real logs of
100 kB and more that this machine writes and that hold no personal names (`planted/big_logs.py`): one word of 10,000 may
be masked.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

SOUND_LINES = (HERE / "sound_lines.txt").read_text("utf-8").splitlines()
_KINDS = {
    "versions": r"(?<![\w.])v?\d{1,4}\.\d{1,4}(?:\.\d{1,5}){0,3}"
    r"(?:[.+-]?(?:a|b|rc|dev|post|cu|git|g)\w{0,48})?(?![\w.])",
    "git hashes in version strings": r"(?:\+git|\+g|-g|[Cc]ommit:? |\.git@|transformers@|\+)[0-9a-f]{7,40}\b",
    "UUID-like build tags": r"(?:\d\+|train:|tag: )[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "digests of images": r"sha256:[0-9a-f]{64}",
    "checksums behind URLs": r"#sha256=[0-9a-f]{64}\b",
    "CUDA and library paths": r"(?<!\w)/(?:usr|opt|lib|lib64|proc|etc|dev)(?:/[\w.+-]+)+",
    "drivers and packages": r"\b(?:lib)?nvidia-[\w.:/+~-]+|\bcuda-[\w.+-]+|\bnv_disp\w*\.inf_amd64_[0-9a-f]{16}",
    "symbols": r"\b_Z\w{10,}",
    "GPUs": r"(?:NVIDIA |GeForce |Tesla |Quadro )[A-Z][\w -]{3,30}",
}
_SOMEBODY = re.compile(r"(?:^|[^\w.])(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?:\.\d{1,3})?$")
"""Of the real texts: addresses of somebody's network, which are to be masked although they look like versions."""


def texts() -> dict[str, str]:
    """All texts at hand by name."""
    from benchmarks.cases import CASES, load_cases, renderer

    found = {}
    for where in (CASES, HERE.parent.parent / "shared" / "cases"):
        if where.exists():
            render = renderer(where)
            found |= {case["id"]: render(case) for case in load_cases(where)}
    for path in sorted((HERE.parent / "tests" / "text" / "texts").glob("*.txt")):
        found[path.stem] = path.read_text("utf-8")
    return found


def drawn(seed: int, count: int) -> list[tuple[str, str]]:
    """Texts with three sound lines in each."""
    draw = random.Random(seed)
    every = texts()
    names = draw.sample(sorted(every), min(count, len(every)))
    return [(name, "\n".join([every[name], *(filled(draw) for _ in range(3))]) + "\n") for name in names]


def filled(draw: random.Random) -> str:
    """A sound line."""

    def one(slot: re.Match[str]) -> str:
        digits = "".join(draw.choice("0123456789abcdef") for _ in range(64))
        if slot[1] == "uuid":
            return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"
        if slot[1][0] == "h":
            return digits[: int(slot[1][1:])]
        return str(draw.randint(1, 9) if slot[1] == "n" else draw.randint(10, 99))

    return re.sub(r"\{(uuid|h\d+|nn?)\}", one, draw.choice(SOUND_LINES))


def pieces(text: str) -> dict[str, Counter[str]]:
    """What must stay, by kind."""
    return {kind: Counter(re.findall(pattern, text)) for kind, pattern in _KINDS.items()}


def verdict(text: str) -> Any:
    """All that the judge says of a text, but for the words that quote it."""
    from compat_matrix import Matrix
    from doctor.findings import Policy
    from doctor.judge import judge
    from doctor.text import read

    report = judge(read(text), Matrix.load(), Policy(judged_on="2026-11-22"))
    return (
        report.verdict,
        [(f.id, f.status, f.severity, f.subject) for f in report.findings],
        [(check.id, check.status) for check in report.checks],
        sorted(report.possible),
    )


def overmasked(seed: int, count: int, show: bool = False, judged: bool = True) -> int:
    """Prints the table; returns how much was masked or judged otherwise."""
    from doctor.snapshot.redact import LocalNames, Redactor

    there, gone = Counter[str](), Counter[str]()
    same = 0
    chosen = drawn(seed, count)
    for name, text in chosen:
        masked = Redactor(LocalNames("zaphod", "heartofgold", "/home/zaphod")).pasted(text)
        same += masked == text
        after = pieces(masked)
        for kind, before in pieces(text).items():
            lost = Counter({piece: n for piece, n in (before - after[kind]).items() if not _SOMEBODY.search(piece)})
            there[kind] += before.total()
            gone[kind] += lost.total()
            if lost and show:
                print(f"{name}: {kind}: {sorted(lost)}")
        if judged and masked != text:
            there["verdicts of texts with something to mask"] += 1
            if verdict(text) != verdict(masked):
                gone["verdicts of texts with something to mask"] += 1
                if show:
                    print(f"{name}: judged otherwise")
    print(f"seed {seed}: {len(chosen)} sound texts, {same} of them without anything to mask, byte for byte the same")
    for kind, number in there.items():
        print(f"  {gone[kind]:3d} of {number:5d} changed  {kind}")
    return gone.total()


def words_masked(show: bool = False) -> tuple[int, int, int]:
    """Prints the table of the big logs; returns how many logs and words there were, and how many words are gone."""
    from planted.big_logs import big_logs

    from doctor.snapshot.redact import LocalNames, Redactor

    logs = words = gone = 0
    for name, text in big_logs():
        masked = Redactor(LocalNames("zaphod", "heartofgold", "/home/zaphod")).pasted(text)
        before = text.split()
        lost = Counter(before) - Counter(masked.split())
        logs, words, gone = logs + 1, words + len(before), gone + lost.total()
        print(f"  {lost.total():3d} of {len(before):6d} words masked  {name}, {len(text) // 1000} kB")
        if lost and show:
            print(f"      {lost.most_common(20)}")
    return logs, words, gone


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What masking must leave alone.")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--logs", action="store_true")
    flags = parser.parse_args()
    if flags.logs:
        number, every, lost = words_masked(flags.show)
        print(f"{lost} of {every} words in {number} logs")
        sys.exit(1 if lost * 10_000 > every or number < 10 else 0)
    sys.exit(1 if overmasked(flags.seed, flags.count, flags.show) else 0)
