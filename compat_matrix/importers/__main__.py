"""`python -m compat_matrix.importers`: see the package's docstring."""

from __future__ import annotations

import argparse
import http.client
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from urllib.error import HTTPError

from ..tables import DATA
from . import sources, xids
from .framework_index import FRAMEWORKS
from .package_index import PACKAGES
from .rows import compare, mark_read, write


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing differs; 1: something does (or was written); 2: a source could not be reached or read."""
    parser = argparse.ArgumentParser(prog="python -m compat_matrix.importers", description=(__doc__ or "").strip())
    parser.add_argument("what", choices=("all", *sources.NAMES))
    parser.add_argument("files", nargs="*", type=Path, help="what the publisher offers (default: from its address)")
    parser.add_argument("--address", default="", help="read a copy of the publisher's document from here")
    parser.add_argument("--last", type=int, default=10, help="torch: how many of the newest releases (default 10)")
    parser.add_argument(
        "--version", action="append", default=[], help="torch: this release, repeatable; flash-attn: that of the file"
    )
    parser.add_argument(
        "--package", action="append", default=[], choices=(*PACKAGES, *FRAMEWORKS), help="packages: this; repeatable"
    )
    parser.add_argument("--data", type=Path, default=Path(DATA), help="the data folder (default: this package's)")
    parser.add_argument("--catalogue", type=Path, default=xids.CATALOGUE, help="xids: the file to compare with")
    parser.add_argument("--write", action="store_true", help="put what differs into the data folder")
    parser.add_argument("--force", action="store_true", help="with --write: also over rows of higher confidence")
    flags = parser.parse_args(arguments)
    if flags.what != "all":
        return _renew(flags.what, flags)
    if flags.files or flags.address:
        parser.error("all reads every source from its address; give a file to one of them")
    status = {name: _renew(name, flags) for name in sources.ALL}
    if failed := [name for name, code in status.items() if code == 2]:
        print(f"not read: {', '.join(failed)}", file=sys.stderr)
    return max(status.values())


def _renew(what: str, flags: argparse.Namespace) -> int:
    """Compare one source with the tables, and write what differs if asked to; as `main` returns."""
    try:
        return _renew_xids(flags) if what == "xids" else _renew_rows(what, flags)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"{what}: {_problem(error)}", file=sys.stderr)
        return 2


def _problem(error: Exception) -> str:
    """One line that names the file or the address."""
    if isinstance(error, HTTPError):
        return f"{error.url}: {error}"
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


def _renew_rows(what: str, flags: argparse.Namespace) -> int:
    found = sources.found(what, flags)
    changes = compare(found, flags.data)
    for change in changes:
        print("\n".join(change.lines()))
    _sum(what, len(found), *(sum(change.kind == kind for change in changes) for kind in ("new", "other", "kept")))
    if flags.write and not (flags.files or flags.version):  # all that the publisher offers was compared
        mark_read(found, flags.data, date.today().isoformat())
    if flags.write and changes:
        written = write(changes, flags.data, flags.force)
        print(f"{written} written; now set their order and `version` in meta.json, and run gpudoctor matrix lint")
    return 1 if changes else 0


def _renew_xids(flags: argparse.Namespace) -> int:
    found = xids.catalogue(sources.xids_page(flags))
    comments, before = xids.kept(flags.catalogue)
    new, other, after = xids.differences(found, before)
    for line in (*new, *other):
        print(line)
    _sum("xids", len(found), len(new), len(other), 0)
    if flags.write and after != before:
        xids.write(flags.catalogue, comments, after)
        print("written; now say in doctor/text/tables/xids.toml what new codes mean and what to do about them")
    return 1 if after != before else 0


def _sum(what: str, rows: int, new: int, other: int, kept: int) -> None:
    print(f"{what}: {rows} rows read: {new} added, {other} changed, {kept} contradicted")


if __name__ == "__main__":
    sys.exit(main())
