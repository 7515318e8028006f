"""A `conda` of the tests: `conda install` and `conda remove`, solved and carried out by py-rattler.

`CONDA_TEST_CHANNELS` is a JSON object of channel names and their folders. The virtual packages are those of the machine:
`__cuda` is what libcuda answers, or CONDA_OVERRIDE_CUDA.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from rattler import MatchSpec, PrefixRecord, VirtualPackage, VirtualPackageOverrides, install, solve


def main() -> None:
    parser = argparse.ArgumentParser(prog="conda")
    parser.add_argument("verb", choices=("install", "remove"))
    parser.add_argument("--yes", "-y", action="store_true", required=True)
    parser.add_argument("--prefix", "-p", default=os.environ.get("CONDA_PREFIX"))
    parser.add_argument("--channel", "-c", action="append", default=[])
    parser.add_argument("packages", nargs="+")
    asked = parser.parse_args()
    asyncio.run(_change(asked))


async def _change(asked: argparse.Namespace) -> None:
    prefix = Path(asked.prefix)
    have = [PrefixRecord.from_path(path) for path in sorted((prefix / "conda-meta").glob("*.json"))]
    history = prefix / "conda-meta" / "history"
    wished = history.read_text().split() if history.exists() else []
    if asked.verb == "remove":
        gone = {*asked.packages}
        assert gone <= {record.name.normalized for record in have}, f"PackagesNotFoundError: {gone}"
        while more := {r.name.normalized for r in have if _needs(r) & gone} - gone:
            gone |= more
        records = [record for record in have if record.name.normalized not in gone]
        wished = [name for name in wished if name not in gone]
    else:
        folders = json.loads(os.environ["CONDA_TEST_CHANNELS"])
        specs = [MatchSpec(text) for text in asked.packages]
        named = {spec.name.normalized for spec in specs}
        specs += [MatchSpec(name) for name in wished if name not in named]
        virtual = VirtualPackage.detect(VirtualPackageOverrides.from_env())
        records = await solve(
            [folders[name] for name in asked.channel],
            specs,
            platforms=["linux-64", "noarch"],
            locked_packages=have,
            virtual_packages=[package.into_generic() for package in virtual],
        )
        wished = sorted({*wished, *named})
    await install(
        records, target_prefix=prefix, cache_dir=Path(os.environ["HOME"]) / "conda-cache", show_progress=False
    )
    history.write_text("\n".join(wished))
    for record in records:
        print(record.name.normalized, record.version, record.build)


def _needs(record: PrefixRecord) -> set[str]:
    return {text.split()[0] for text in record.depends}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # rattler's threads still run, and crash now and then while the interpreter ends
