"""`python -m compat_matrix.importers`: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from ..tables import DATA
from .files import READERS
from .framework_index import FRAMEWORKS
from .framework_index import read as read_framework
from .package_index import PACKAGES
from .package_index import read as read_package
from .rows import Found, compare, mark_read, rows_of, write
from .torch_index import PYTHONS, PipFailed, ask, newest, read_reports


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing differs; 1: something does (or was written); 2: what was given cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m compat_matrix.importers", description=(__doc__ or "").strip())
    parser.add_argument("what", choices=("all", "torch", "packages", *READERS))
    parser.add_argument("files", nargs="*", type=Path, help="what the publisher offers (torch: pip's reports)")
    parser.add_argument("--last", type=int, default=10, help="torch: how many of the newest releases (default 10)")
    parser.add_argument("--version", action="append", default=[], help="torch: this release; repeatable")
    parser.add_argument(
        "--python", action="append", default=[], help=f"torch: this Python (default: {' '.join(PYTHONS)})"
    )
    parser.add_argument(
        "--package", action="append", default=[], choices=(*PACKAGES, *FRAMEWORKS), help="packages: this; repeatable"
    )
    parser.add_argument("--data", type=Path, default=Path(DATA), help="the data folder (default: this package's)")
    parser.add_argument("--write", action="store_true", help="put what differs into the data folder")
    parser.add_argument("--force", action="store_true", help="with --write: also over rows of higher confidence")
    flags = parser.parse_args(arguments)
    try:
        found = _found(flags)
        changes = compare(found, flags.data)
    except (OSError, ValueError, PipFailed) as error:
        problem = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        print(f"{flags.what}: {problem}", file=sys.stderr)
        return 2
    for change in changes:
        print("\n".join(change.lines()))
    print(f"{len(found)} rows read, {len(changes)} differ from the matrix")
    if flags.write and not (flags.files or flags.version):  # all that is on the index was compared
        mark_read(found, flags.data, date.today().isoformat())
    if flags.write and changes:
        written = write(changes, flags.data, flags.force)
        print(f"{written} written; now set their order and `version` in meta.json, and run gpudoctor matrix lint")
    return 1 if changes else 0


def _found(flags: argparse.Namespace) -> list[Found]:
    if flags.what == "torch":
        if flags.files:  # reports of pip for this platform's own Python
            return read_reports(("linux_x86_64", json.loads(path.read_text("utf-8"))) for path in flags.files)
        return read_reports(ask(flags.version or newest(flags.last), flags.python or PYTHONS))
    if flags.what == "packages":
        return _packages(flags)
    if flags.what == "all":  # those that a publisher offers at one address
        return [*read_reports(ask(newest(flags.last), flags.python or PYTHONS)), *_packages(flags)]
    if not flags.files:
        raise ValueError("give the file to read")
    reader, table = READERS[flags.what]
    rows = rows_of(flags.data, table)
    found = []
    for path in flags.files:
        try:
            found += reader(path.read_text("utf-8"), rows)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return found


def _packages(flags: argparse.Namespace) -> list[Found]:
    builds = {row["torch"]: row["pypi_linux_x86_64"] for row in rows_of(flags.data, "torch_releases")}
    extensions, frameworks = rows_of(flags.data, "extensions"), rows_of(flags.data, "frameworks")
    found: list[Found] = []
    for package in flags.package or (*PACKAGES, *FRAMEWORKS):
        if package in FRAMEWORKS:
            found += read_framework(package, frameworks)
        else:
            found += read_package(package, extensions, builds)
    return found


if __name__ == "__main__":
    sys.exit(main())
