"""How rows in different tables must agree."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from .libraries import toolkit
from .lint_gpus import GPU_RULES
from .packages import plain
from .tables import TABLES
from .torchs import torch_build
from .versions import arch, minor, numbers, tag_cuda

if TYPE_CHECKING:
    from .rows_driver import DriverBranch
    from .rows_more import ExtensionIndex, ExtensionWheel
    from .store import Store

PLATFORMS = {"min_driver_linux": "linux", "min_driver_windows": "windows"}


def _drivers(m: Store) -> list[str]:
    problems = []
    rows = sorted(m.drivers, key=lambda row: row.branch)
    for row in rows:
        if minor(row.cuda) is None or arch(row.min_compute_capability) is None:
            problems.append(f"drivers {row.branch}: CUDA or compute capability unreadable")
        problems += [
            f"drivers {row.branch}: {text} does not belong to this branch"
            for text in (row.first_release, row.latest_seen)
            if text and numbers(text)[:1] != (row.branch,)
        ]
    for older, newer in pairwise(rows):
        if (minor(older.cuda) or ()) > (minor(newer.cuda) or ()):
            problems.append(f"drivers {newer.branch}: reports an older CUDA than {older.branch}")
    for row in rows:
        for capability in m.capabilities:
            held = numbers(row.min_compute_capability) <= numbers(capability.cc)
            if capability.last_driver and held == (row.branch > capability.last_driver):
                problems.append(f"drivers {row.branch}: disagrees with the last driver of {capability.cc}")
    return problems


def _forward_compat(m: Store) -> list[str]:
    problems = []
    branches = {row.branch for row in m.drivers}
    for row in m.compat_packages:
        where = f"forward_compat {row.cuda}"
        hosts = [*map(int, row.hosts), *row.image_hosts, row.from_branch]
        problems += [f"{where}: branch {branch} is not in drivers" for branch in hosts if branch not in branches]
        for host, grade in row.hosts.items():
            # A compat library must be from a newer branch than its host.
            wanted = ("compatible", "not-needed", "not-compatible")
            step = (int(host) >= row.from_branch) + (int(host) > row.from_branch)
            if grade != wanted[step]:
                problems.append(f"{where}: host {host} is {grade}, but the library is from branch {row.from_branch}")
        late = [branch for branch in row.image_hosts if branch > row.from_branch]
        problems += [f"{where}: image host {branch} is newer than the library" for branch in late]
    return problems


def _of_branch(number: int, row: DriverBranch, platform: str) -> bool:
    if platform == "linux":
        return number == row.branch
    return bool(row.windows_first and row.windows_last and row.windows_first <= number <= row.windows_last)


def _floors(m: Store) -> list[str]:
    problems = []
    majors = {row.major: row for row in m.cuda_majors}
    for field, platform in PLATFORMS.items():
        last: tuple[str, tuple[int, ...]] = ("", ())
        for row in sorted(m.toolkits, key=lambda row: numbers(row.version)):
            floor = numbers(getattr(row, field))
            if not floor:
                continue
            if floor < last[1]:
                problems.append(f"toolkits {row.version}: {field} is below the one for {last[0]}")
            last = (row.version, floor)
            if row.cuda not in {branch.cuda for branch in m.drivers if _of_branch(floor[0], branch, platform)}:
                problems.append(f"toolkits {row.version}: {field} is from a branch that reports a different CUDA")
            major = majors.get(numbers(row.version)[0])
            low = numbers(getattr(major, field)) if major else ()
            # CUDA 11.0 came out on earlier 450 drivers than the floor of 11.x.
            if low and floor < low and minor(row.cuda) != (11, 0):
                problems.append(f"toolkits {row.version}: {field} is below the floor of CUDA {low}")
    return problems


def _capabilities(m: Store) -> list[str]:
    problems = []
    listed = {row.cc for row in m.capabilities}
    branches = {row.branch for row in m.drivers}
    for row in m.capabilities:
        if arch(row.cc) is None:
            problems.append(f"compute_capability {row.cc}: unreadable")
        for branch in (row.first_driver, row.last_driver):
            if branch is not None and branch not in branches:
                problems.append(f"compute_capability {row.cc}: branch {branch} is not in drivers")
    minors = sorted({value for row in m.toolkits if row.sm_targets and (value := minor(row.cuda))})
    for row in m.capabilities:
        held = sorted({value for t in m.toolkits if row.cc in t.sm_targets and (value := minor(t.cuda))})
        first, last = minor(row.first_toolkit), minor(row.last_toolkit)
        if first and held and first != held[0] and held[0] != minors[0]:
            problems.append(f"compute_capability {row.cc}: first_toolkit is not the first toolkit that targets it")
        if held and last != (None if held[-1] == minors[-1] else held[-1]):
            problems.append(f"compute_capability {row.cc}: last_toolkit is not the last toolkit that targets it")
    targets = {cc for row in m.toolkits for cc in row.sm_targets}
    targets |= {cc for row in m.ptx_targets for cc in (row.target, *row.runs_on)}
    targets |= {cc for row in m.binary_rules for cc in (row.device, *(row.code if row.rule != "misnamed" else ()))}
    targets |= {cc for build in m.builds for cc in (*build.sass, *build.ptx)}
    targets |= {cc for conda in m.conda_rows for cc in (*conda.sass, *conda.ptx)}
    return problems + [f"compute_capability: {cc} is used but not listed" for cc in sorted(targets - listed)]


def _torch(m: Store) -> list[str]:
    problems = []
    releases = {row.torch: row for row in m.releases}
    indexes = {row.tag: row for row in m.index_urls}
    for build in m.builds:
        where = f"torch_builds {build.torch} {build.tag} {build.platform}"
        if build.torch not in releases:
            problems.append(f"{where}: release not listed")
        if tag_cuda(build.tag) is None:
            problems.append(f"{where}: tag unreadable")
        if build.platform != "linux_x86_64_conda" and build.published != "dropped":
            index = indexes.get(build.tag)
            if index is None:
                problems.append(f"{where}: no index row")
            elif build.published == "yes" and build.torch not in index.torch:
                problems.append(f"{where}: not among the releases of its index")
        if build.pypi_default and getattr(releases.get(build.torch), f"pypi_{build.platform}", None) != build.tag:
            problems.append(f"{where}: the release names a different PyPI default")
    for row in m.releases:
        for platform in ("linux_x86_64", "linux_aarch64"):
            tag = getattr(row, f"pypi_{platform}")
            if tag not in ("cpu", "none") and torch_build(m, row.torch, tag, platform) is None:
                problems.append(f"torch_releases {row.torch}: default {tag} of {platform} has no build row")
    named = [("torch_requires", row.torch) for row in m.requires_rows]
    named += [("preloads", row.torch) for row in m.preload_rows]
    newest = max(map(numbers, releases), default=())  # an index also has the long-term 1.8.2
    named += [("index_urls", torch) for index in m.index_urls for torch in index.torch if numbers(torch) > newest]
    problems += [f"{table} {torch}: release not listed" for table, torch in named if torch not in releases]
    for pair in m.companion_rows:
        bases = {numbers(text)[: len(numbers(pair.torch))] for text in releases}
        if pair.torch != "*" and numbers(pair.torch) not in bases:
            problems.append(f"companions {pair.package} {pair.version}: torch {pair.torch} is not listed")
    return problems


def _conda(m: Store) -> list[str]:
    problems = []
    releases = {row.torch for row in m.releases}
    for row in m.conda_rows:
        where = f"conda {row.torch} {row.cuda} {row.platform}"
        if row.torch not in releases:
            problems.append(f"{where}: release not listed")
        if toolkit(m, row.cuda) is None:
            problems.append(f"{where}: no such toolkit")
        if row.build != f"cuda{row.cuda.replace('.', '')}*":
            problems.append(f"{where}: build {row.build} is not for this CUDA")
        if numbers(row.cuda)[:1] != numbers(row.cuda_floor):
            problems.append(f"{where}: the __cuda floor must be the CUDA major version")
        if not row.pythons or not row.sass:
            problems.append(f"{where}: Python versions or architectures are missing")
        if bool(row.glibc) != row.platform.startswith("linux"):
            problems.append(f"{where}: glibc is for Linux only")
    return problems


def _cudnn(m: Store) -> list[str]:
    return [
        f"cudnn {row.version}: min_cc does not name the CUDA majors it is built for"
        for row in m.cudnn_rows
        if row.min_cc and set(row.min_cc) != set(map(str, row.cuda_majors))
    ]


def _publishers(m: Store) -> list[str]:
    """A publisher's table exists and contains the package."""
    return [
        f"publishers {row.table} {row.package}: the matrix has no such rows"
        for row in m.publishers
        if row.table not in TABLES
        or not any(getattr(one, "package", "") == row.package or not row.package for one in m.rows(row.table))
    ]


def _homes(m: Store) -> list[str]:
    """A package belongs to one table, which lists every release that other tables mention; so does a PCI device."""
    homes: dict[str, set[str]] = {}
    tables = (("companions", m.companion_rows), ("frameworks", m.frameworks), ("extensions", m.extensions))
    for table, rows in tables:
        for row in rows:
            homes.setdefault(plain(row.package), set()).add(table)
    problems = [
        f"{name}: in {' and in '.join(sorted(found))}; a package must be in only one table"
        for name, found in sorted(homes.items())
        if len(found) > 1
    ]
    listed = {(row.package, row.version) for row in m.extensions}
    also: tuple[tuple[str, tuple[ExtensionWheel | ExtensionIndex, ...]], ...] = (
        ("extension_wheels", m.extension_wheels),
        ("extension_indexes", m.extension_indexes),
    )
    for where, others in also:
        problems += [
            f"{where} {one.package} {one.version}: this release is not listed in extensions"
            for one in others
            if homes.get(one.package) == {"extensions"} and (one.package, one.version) not in listed
        ]
    devices = {device for row in m.gpus for device in row.device_ids}
    problems += [
        f"boards {row.name}: PCI device {device} is listed among gpus"
        for row in m.boards
        for device in row.device_ids
        if device in devices
    ]
    return problems


RULES = (_homes, _publishers, _drivers, _forward_compat, _floors, _capabilities, _torch, _conda, _cudnn, *GPU_RULES)
