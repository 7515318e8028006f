"""What `gpudoctor image` asks of a registry, and its processor time beside that of `python -c 'import requests'`.

    python benchmarks/images.py [--pairs N]

docker-registry on loopback, images copied into it by skopeo (both from Debian). gpudoctor is the one beside the Python
that runs this script; its byte code must be there, so it is compiled first. Each pair runs both commands, turn about;
the ratio is the median over the pairs.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.images.layouts import Layout  # noqa: E402
from tests.images.modelled import IMAGES  # noqa: E402
from tests.images.registries import Running, registry  # noqa: E402

GOAL = 2.5
WANTED = {"cuda:12.8.1": 2, "pytorch:2.8.0": 2, "cuda:multi": 3, "attested:1": 5}
"""Image to the requests that it may take: manifest and config, the index before them, an attestation and its SPDX."""
HOST = ["--driver", "580.65.06", "--gpu", "H100", "--from", "registry"]


def processor_ms(words: list[str]) -> float:
    """Of one run with its children."""
    child = os.posix_spawn(
        words[0],
        words,
        {**os.environ, "PYTHONHASHSEED": "0"},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, _, usage = os.wait4(child, 0)
    return (usage.ru_utime + usage.ru_stime) * 1000


def requests(running: Running, folder: Path) -> dict[str, str]:
    """Reference of each image; prints how many requests its verdict took."""
    from tests.cli.command import gpudoctor

    references = {}
    print("| image | requests | goal |\n| --- | ---: | ---: |")
    for name, goal in WANTED.items():
        layout = Layout(folder / name.replace(":", "_"))
        layout.tag("latest", IMAGES[name](layout))
        references[name] = running.push(layout, name)
        with running.counted() as seen:
            done = gpudoctor("image", references[name], *HOST)
        assert done.returncode == 0, done.stderr
        print(f"| {name} | {len(seen)} | {goal} |")
    return references


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=31)
    pairs = parser.parse_args().pairs
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for package in ("doctor", "compat_matrix"):
        compileall.compile_dir(ROOT / package, quiet=1)
    with tempfile.TemporaryDirectory() as text, registry(Path(text) / "registry") as running:
        references = requests(running, Path(text))
        command = [str(Path(sys.executable).parent / "gpudoctor"), "image", references["cuda:12.8.1"], *HOST]
        plain = [sys.executable, "-c", "import requests"]
        ratios, ours, theirs = [], [], []
        for _ in range(pairs):
            ours.append(processor_ms(command))
            theirs.append(processor_ms(plain))
            ratios.append(ours[-1] / theirs[-1])
        print(f"\n`gpudoctor image` of a plain manifest: {median(ours):.0f} ms of processor time;", end=" ")
        print(f"`python -c 'import requests'`: {median(theirs):.0f} ms; ratio {median(ratios):.2f} (goal: {GOAL})")


if __name__ == "__main__":
    main()
