"""`gpudoctor matrix query`: questions to the matrix from the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import click
import msgspec

from compat_matrix import Matrix, MatrixError
from compat_matrix.branches import branch_ended
from compat_matrix.close_names import unlisted_gpu
from compat_matrix.drivers import Platform
from compat_matrix.forward import for_all_of
from compat_matrix.framework_wishes import allowed_releases

from .matrix_answer import (
    Answered,
    Found,
    Lines,
    cited,
    cited_shortly,
    driver_row,
    listed_cuda,
    named_capabilities,
    named_capability,
    refuse_reported_only,
    unlisted,
    windows_only,
)
from .matrix_line import of_line
from .matrix_show import emit, load
from .suggest import did_you_mean

_OF_A_BUILD = {
    "gpus": "--gpu",
    "driver": "--driver",
    "python": "--python",
    "torch": "--torch",
    "forward_compat": "--forward-compat",
}


def answer(words: tuple[str, ...], options: dict[str, Any], path: str | None = None) -> int:
    """Answer one question. Exit code 0; usage errors and unlisted things are one line and exit code 2."""
    m = load(path)
    try:
        data, lines, keys = ask(m, words, options)
    except MatrixError as error:
        raise click.ClickException(str(error)) from None
    if options["sources"]:
        listed = [{"key": key, "text": m.source(key)} for key in keys]
        return emit(options, {"answer": data, "sources": listed}, [*lines, *cited(m, keys)])
    return emit(options, data, [*lines, *cited_shortly(m, keys)])


def ask(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    """The answer as data and as lines, and the keys of its sources. Raises UsageError for what is not a question for
    the matrix, ClickException for what it does not list."""
    if len(words) == 1:  # one pair of quotes around all
        words = unquoted(words[0])
    if not words:
        raise click.UsageError("matrix query: no question given. See gpudoctor matrix query --help")
    subject, *rest = words
    words = tuple(rest)
    if subject != "build" and (given := [flag for name, flag in _OF_A_BUILD.items() if options.get(name)]):
        are = "are" if len(given) > 1 else "is"
        raise click.UsageError(f"{' and '.join(given)} {are} for matrix query build")
    if words[:1] == ("for",):
        from .matrix_for import answer_for

        return _found(answer_for(m, subject, words[1:], options))
    if subject not in QUESTIONS:
        from .matrix_for import things
        from .matrix_for_package import package_named, release

        package = package_named(m, subject)
        if package:
            _one_value(subject, words)
            wheels = "windows" if options["os_"] == "windows" else f"linux_{options['arch']}"
            return _found(release(m, package, " ".join(words), wheels))
        hint = did_you_mean(subject, [*QUESTIONS, *things(m)])
        raise click.UsageError(
            f"matrix query {subject!r}: no such subject{hint} (one of {', '.join(QUESTIONS)}, or a package)"
        )
    if subject != "build" and not words:
        raise click.UsageError(f"matrix query {subject}: a value is missing. See gpudoctor matrix query --help")
    if subject == "build" and words:
        raise click.UsageError(f"matrix query build accepts only options, not {words[0]!r}")
    if subject not in _OF_SEVERAL_WORDS:
        _one_value(subject, words)
    return QUESTIONS[subject](m, words, options)


def unquoted(text: str) -> tuple[str, ...]:
    """The words of a question, without the quotes around it or a name in it."""
    return tuple(re.sub("[\"']", " ", text).split())


_OF_SEVERAL_WORDS = ("driver", "gpu", "framework", "build")


def _one_value(subject: str, words: tuple[str, ...]) -> None:
    """Raises UsageError if more was asked than would be answered."""
    if len(words) > 1:
        rest = " ".join(words[1:])
        raise click.UsageError(
            f"matrix query {subject} {words[0].rstrip(',')}: unexpected {rest!r}; ask one question at a time"
        )


def _found(found: Found) -> Answered:
    return Answered(found, list(found.lines), found.sources)


def _of(rows: Iterable[Any]) -> tuple[str, ...]:
    """Each source once."""
    return tuple(dict.fromkeys(row.source for row in rows))


def _driver(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    platform: Platform = "linux" if options["os_"] == "linux" else "windows"
    if platform == "linux" and (note := windows_only(m, words[0])):
        found = _driver(m, words, {**options, "os_": "windows"})
        return found._replace(lines=[note, *found.lines])
    if len(words) == 1:
        row = driver_row(m, words[0], platform)
        have = m.toolkit_of_driver(row.cuda)
        lines = [f"branch {row.branch} ({row.type}): CUDA {have}, oldest architecture {row.oldest_architecture}"]
        lines += [f"newest version seen: {row.latest_seen} ({row.latest_seen_date})"] if row.latest_seen else []
        past = " (past)" if branch_ended(m, row, date.today().isoformat()) else ""
        lines += [f"end of life: {row.end_of_life or 'not known'}{past}", f"open kernel module: {row.open_module}"]
        return Answered(row, lines, (row.source,))
    if len(words) < 3 or words[1] not in ("cuda", "gpu"):
        raise click.UsageError("matrix query driver VERSION [cuda VERSION | gpu CAPABILITY_OR_NAME]")
    if words[1] == "cuda":
        refuse_reported_only(m, words[2])
        if words[2].isdecimal():
            return _driver_for_major(m, words, options)
        grade = m.driver_for_cuda(words[0], words[2], platform)
        lines = [f"{grade.grade}: {grade.reason}"]
        if grade.limits == "sass-only":
            lines.append("limits: machine code (SASS) only; the driver cannot compile PTX that is newer than itself")
        if grade.grade == "needs-forward-compat":
            compat = m.forward_compat(words[2], words[0], segment="datacenter")
            lines.append(f"on a data-center GPU: {', '.join(compat.packages)}")
        return Answered(grade, lines, _of(grade.rows))
    chips = named_capabilities(m, " ".join(words[2:]))
    graded = [(name, m.driver_for_gpu(words[0], cc, None, platform)) for cc, name in chips.items()]
    lines = [(f"{name}: " if len(chips) > 1 else "") + f"{one.grade}: {one.reason}" for name, one in graded]
    data = graded[0][1] if len(graded) == 1 else [one for _, one in graded]
    return Answered(data, lines, _of(row for _, one in graded for row in one.rows))


def _driver_for_major(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    """`driver 535 cuda 12`: with the first CUDA of the major and with the last."""
    versions = listed_cuda(m, words[2])
    ends = dict.fromkeys(".".join(map(str, one)) for one in (versions[0], versions[-1]))
    found = [(one, _driver(m, (words[0], "cuda", one), options)) for one in ends]
    lines = [f"CUDA {one}: {line}" for one, answer in found for line in answer.lines]
    keys = dict.fromkeys(key for _, answer in found for key in answer.sources)
    return Answered([answer.data for _, answer in found], lines, tuple(keys))


def _gpu(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    text = " ".join(words)
    rows = m.gpu(name=text).rows or m.gpu_by_capability(text) or m.gpu(pci_device_id=text).rows
    if not rows:
        parts = text.casefold().split()
        rows = tuple(row for row in m.gpus if all(part in row.name.casefold() for part in parts))
    if not rows:
        raise click.ClickException(unlisted_gpu(m, text))
    lines = []
    for row in rows:
        memory = f", {row.memory_gib:g} GiB" if row.memory_gib else ""
        ids = f", PCI {' '.join(row.device_ids)}" if row.device_ids else ""
        lines.append(f"{row.name}: {row.architecture}, compute capability {row.cc or 'not known'}{memory}{ids}")
    return Answered(rows, lines, _of(rows))


def _torch(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    several = of_line(m, "torch", words[0])
    if len(several) > 1:
        each = [_torch(m, (one,), options) for one in several]
        lines = [line for one in each for line in one.lines]
        return Answered([one.data for one in each], lines, tuple(dict.fromkeys(key for one in each for key in one[2])))
    found = m.torch_release(words[0])
    if found.release is None:
        raise unlisted(f"torch {words[0]!r}", found.status == "newer-than-matrix")
    row = found.release
    lines = [f"torch {row.torch} ({row.date}), Python {' '.join(row.pythons_linux_x86_64)}"]
    tags = f"Linux x86_64 {row.pypi_linux_x86_64}, aarch64 {row.pypi_linux_aarch64}, Windows {row.pypi_windows}"
    lines.append(f"from PyPI: {tags}")
    builds = m.torch_builds(row.torch)
    for build in builds:
        ptx = "unknown" if build.ptx_unknown else " ".join(build.ptx) or "none"
        state = "" if build.published == "yes" else f" ({build.published})"
        lines.append(f"{build.tag:<6} {build.platform:<18} SASS {' '.join(build.sass)}; PTX {ptx}{state}")
    companions = m.companions(row.torch)
    lines += [f"{item.package}: {' or '.join(item.versions)}" for item in companions]
    data = {"release": row, "builds": builds, "companions": companions}
    return Answered(data, lines, _of((row, *builds, *(r for item in companions for r in item.rows))))


def _build(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    if not options["gpus"]:
        raise click.UsageError("matrix query build needs --gpu (a compute capability or a GPU name)")
    named = [text for text in options["gpus"] if not m.compute_capability(text)]
    refused = [text for text in named if not for_all_of(m.gpu(name=text).rows)] if options["forward_compat"] else []
    best = m.best_builds(
        [named_capability(m, text) for text in options["gpus"]],
        options["driver"],
        options["os_"],
        options["arch"],
        _python(options["python"]),
        options["torch"],
        options["forward_compat"] and not refused,
    )
    from ..fixes.install import of_build, pip_line, uv_line

    lines, for_json = [], []
    for b in best:
        request = of_build(b)
        lines.append(f"{pip_line(request)}\n    torch {b.torch} {b.tag}, {b.grade}: {b.why}")
        for_json.append({**msgspec.structs.asdict(b), "pip_line": pip_line(request), "uv_line": uv_line(request)})
    lines = lines or [f"none: {best.reason}"]
    lines += [f"{best.more} more builds fit: {_all_builds(options)}"] if best.more else []
    lines += (
        [f"cuda-compat does not support {' and '.join(refused)} (error 804), so builds that need it are left out"]
        if refused
        else []
    )
    data = {"reason": best.reason, "builds": for_json, "more": best.more, "no_forward_compat": refused}
    return Answered(data, lines, _of(row for b in best for row in b.rows))


def _all_builds(options: Mapping[str, Any]) -> str:
    """The command that lists every build for the same machine."""
    words = ["gpudoctor", "resolve", *(f"torch{_operator(one)}{one}" for one in (options["torch"],) if one)]
    words += [word for gpu in options["gpus"] for word in ("--gpu", gpu)]
    for flag, name in (("--driver", "driver"), ("--python", "python"), ("--os", "os_"), ("--arch", "arch")):
        usual = options[name] in (None, "", "linux", "x86_64")
        words += [] if usual else [flag, options[name]]
    return shlex.join([*words, "--explain-all"])


def _operator(version: str) -> str:
    return "==" if version[0].isdigit() else ""


def _python(text: str | None) -> str | None:
    """The version as `resolve` reads it. Raises UsageError."""
    from ..resolve.machine import Unclear, python

    try:
        return python(text) if text else None
    except Unclear as unclear:
        raise click.UsageError(str(unclear)) from None


def _row(m: Matrix, row: Any, what: str, text: str) -> Answered:
    if row is None:
        raise unlisted(f"{what} {text!r}")
    from .matrix_show import filled, plain

    lines = [f"{name}: {plain(value)}" for name, value in filled(row) if name != "source"]
    return Answered(row, lines, (row.source,))


def _cudnn(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    return _row(m, m.cudnn(of_line(m, "cudnn", words[0])[0]), "cuDNN", words[0])


def _nccl(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    return _row(m, m.nccl(of_line(m, "nccl", words[0])[0]), "NCCL", words[0])


def _cuda(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    listed_cuda(m, words[0])
    return _row(m, m.toolkit(words[0]), "CUDA", words[0])


def _framework(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    if len(words) != 2:
        raise click.UsageError("matrix query framework NAME VERSION, such as tensorflow 2.15")
    rows = tuple(row for row in m.framework(words[0], words[1]) if allowed_releases(row, words[1]))
    if not rows:
        names = sorted({row.package for row in m.frameworks})
        known = any(name.startswith(words[0].casefold()) for name in names)
        raise unlisted(f"{words[0]} {words[1]}" + ("" if known else f" (listed: {', '.join(names)})"))
    lines: Lines = []
    for row in rows:
        cudnn = f", cuDNN {row.cudnn}" if row.cudnn else ""
        lines.append(
            f"{row.package} {row.version}: CUDA {row.cuda}{cudnn}, Python {', '.join(row.pythons) or 'not known'}"
        )
        lines.append(
            f"  GPU support on {', '.join(row.gpu_platforms)}"
            + (f"; CUDA wheels come with the {row.extra} extra" if row.extra else "")
        )
        lines += [f"  {row.note}"] if row.note else []
    return Answered(rows, lines, _of(rows))


def _error(m: Matrix, words: tuple[str, ...], options: Mapping[str, Any]) -> Answered:
    found = [row for row in (m.cuda_error(words[0]), m.nvml_error(words[0])) if row]
    if not found:
        raise unlisted(f"error {words[0]!r}")
    lines: Lines = []
    for row in found:
        lines += [type(row).__name__, *_row(m, row, "error", words[0]).lines]
    return Answered(found, lines, _of(found))


QUESTIONS = {
    "driver": _driver, "gpu": _gpu, "torch": _torch, "build": _build, "cudnn": _cudnn, "nccl": _nccl, "cuda": _cuda,
    "framework": _framework, "error": _error,
}  # fmt: skip
