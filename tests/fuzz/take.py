"""Each parser called as gpudoctor calls it. A documented exception is an answer; any other one escapes from here."""

from __future__ import annotations

import io
import json
import os
import tempfile
from functools import cache
from pathlib import Path

import msgspec

from doctor.commands.config import base_policy
from doctor.commands.saved import read_report
from doctor.findings import Policy
from doctor.formats import elf as elf_file
from doctor.formats import elf_dynamic, notes, proc, proc_nvidia, pytorch, require
from doctor.formats import metadata as dists
from doctor.formats import versions as spelling
from doctor.formats.elf_forward import read_library
from doctor.formats.fatbin_summary import FatbinSummary, summarize
from doctor.formats.fatbin_support import supported
from doctor.formats.ldcache import parse_ldcache
from doctor.formats.tar_stream import TarError, TarStream
from doctor.guard import Refusal
from doctor.judge import judge, load, run_check
from doctor.probes.collect import snapshot_of
from doctor.probes.cuda_driver import parse_cuda_driver
from doctor.probes.nvml import parse_nvml
from doctor.probes.torch_run import parse_torch_run
from doctor.report.json import render_json
from doctor.report.markdown import render_markdown
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Snapshot
from doctor.snapshot.redact import LocalNames, redact
from doctor.targets.agent import Output
from doctor.targets.recording import PROOF, RecordingError, read_recording
from tests.readers import bytes_reader, forward

from ..healthy import healthy
from ..judging import matrix

JUDGED_EVERY = 60
"""A Snapshot in so many is also judged, redacted and rendered: that costs a hundred times as much as parsing it."""
HOSTS = (
    require.RequireHost(None, None, None),
    require.RequireHost("12.8", "570.86.10", ()),
    require.RequireHost("12.8", "570.86.10", (require.RequireGpu("9.0", "tesla"), require.RequireGpu(None, None))),
)


def elf(data: bytes) -> object:
    try:
        found = elf_file.parse_elf(bytes_reader(data))
        return elf_dynamic.read_dynamic(found)
    except elf_file.ElfError as error:
        return _one_line(error)


def elf_forward(data: bytes) -> object:
    try:
        library = read_library(forward(data, 997), (b"NVIDIA Corporation",))
        read = library.kept.pread
        return library.containers.summary(read, library.size), elf_dynamic.read_dynamic(elf_file.parse_elf(read))
    except elf_file.ElfError as error:
        return _one_line(error)


class _Bytes:
    """A source of tar_stream."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def take(self, size: int) -> bytes:
        return self._file.read(size)

    def piece(self, most: int) -> bytes:
        return self._file.read(min(most, 700))

    def skip(self, size: int) -> int:
        return len(self._file.read(size))


def tar(data: bytes) -> object:
    archive, found = TarStream(_Bytes(data)), []
    try:
        while (member := archive.next()) is not None:
            found.append((member, archive.piece(1000)))
    except TarError as error:
        return _one_line(error)
    return found


def fatbin(data: bytes) -> object:
    try:
        summary: FatbinSummary = summarize(bytes_reader(data))
    except elf_file.ElfError as error:
        return _one_line(error)
    return supported(summary)


def note(data: bytes) -> object:
    try:
        found = elf_file.parse_elf(bytes_reader(data))
        return list(notes.iter_notes(found)), notes.forward_compatibility(found)
    except (elf_file.ElfError, notes.NoteError) as error:
        return _one_line(error)


def note_json(data: bytes) -> object:
    try:
        return notes.parse_forward_compatibility(data)
    except notes.NoteError as error:
        return _one_line(error)


def arch_list(data: bytes) -> object:
    try:
        return pytorch.find_arch_list(bytes_reader(data))
    except elf_file.ElfError as error:
        return _one_line(error)


def ldcache(data: bytes) -> object:
    return parse_ldcache(data, "x86_64")


def report(data: bytes) -> object:
    path = _folder() / "report.json"
    path.write_bytes(data)
    try:
        saved = read_report(str(path))
    except Refusal as refusal:
        return _one_line(refusal)
    return judged(saved.snapshot, saved.policy, data)


def recording(data: bytes) -> object:
    """The files of the folder one after the other, each behind a line `== NAME`."""
    folder = _folder()
    for old in folder.glob("*.json*"):
        old.unlink()
    for part in data.split(b"== ")[1:]:
        name, _, content = part.partition(b"\n")
        known = {b"manifest": "manifest.json", b"files": "files.jsonl", b"nvml": "nvml.jsonl", b"torch": "torch.jsonl"}
        known.update({source.encode(): f"{source}.jsonl" for source in PROOF})
        (folder / known.get(name, "cuda_driver.jsonl")).write_bytes(content)
    try:
        read = read_recording(str(folder))
    except RecordingError as error:
        return _one_line(error)
    return judged(snapshot_of(read), Policy(judged_on="2026-11-20"), data)


def agent_output(data: bytes) -> object:
    """What a child wrote, in pieces, through each agent's parser."""
    output = Output()
    for start in range(0, len(data), 4096):
        output.feed(data[start : start + 4096])
    output.feed_stderr(data[:5000])
    result = output.result(-len(data) % 3 or None, None, 0.1)
    for parse in (parse_nvml, parse_cuda_driver, parse_torch_run):
        changes, _ = parse(result)
        msgspec.json.encode(Snapshot().replace(changes))
    return result.noise


def metadata(data: bytes) -> object:
    text = _text(data)
    found = dists.parse_metadata(text)
    folders = [dists.dist_info_name(line) for line in text.splitlines()[:50]]
    return found, folders, dists.parse_installer(text)


def direct_url(data: bytes) -> object:
    return dists.parse_direct_url(_text(data))


def requires_dist(data: bytes) -> object:
    """The lines as torch's requirements, judged by the checks that read them."""
    lines = tuple(line[:1000] for line in _text(data).splitlines()[:30])
    snapshot = healthy().replace({"torch.requires": lines})
    for check_id in (
        "torch-requirements-unmet",
        "nvidia-wheels-off-torch-pins",
        "bundled-cuda-libs-missing",
        "mixed-cuda-wheels",
    ):
        _, reason, *_ = run_check(load(check_id), snapshot, matrix(), Policy(judged_on="2026-11-20"))
        assert "the check itself failed" not in reason, reason
    return lines


def config(data: bytes) -> object:
    """As gpudoctor.toml, and as a pyproject.toml."""
    found: list[object] = []
    for name in ("gpudoctor.toml", "pyproject.toml"):
        path = _folder() / name
        path.write_bytes(data)
        try:
            found.append(base_policy({"config": str(path)}))
        except Refusal as refusal:
            found.append(_one_line(refusal))
    return found


def driver_version(data: bytes) -> object:
    return proc_nvidia.parse_driver_version(_text(data))


def cpuinfo(data: bytes) -> object:
    return proc.parse_cpuinfo(_text(data))


def meminfo(data: bytes) -> object:
    return proc.parse_meminfo(_text(data))


def mountinfo(data: bytes) -> object:
    return proc.parse_mountinfo(_text(data))


def limits(data: bytes) -> object:
    return proc.parse_limits(_text(data))


def cgroup(data: bytes) -> object:
    text = _text(data)
    line = text.partition("\n")[0]
    return (
        proc.parse_cgroup(text),
        proc.parse_cpu_max(line),
        proc.parse_memory_limit(line),
        proc.parse_cpu_quota(line, line.partition(" ")[2]),
        proc.parse_cpu_quota("100", line),
    )


def os_release(data: bytes) -> object:
    text = _text(data)
    return proc.parse_os_release(text), proc.is_wsl(text)


def pyvenv_cfg(data: bytes) -> object:
    return proc.parse_pyvenv_cfg(_text(data))


def versions(data: bytes) -> object:
    """Every spelling, and the matrix's answers to them."""
    found: list[object] = []
    for word in _text(data).splitlines()[:20]:
        found += [spelling.parse_torch(word)]
        found += [matrix().driver_branch(word).status, matrix().torch_release(word).status]
        if word.isascii() and word.isdigit() and len(word) < 20:
            number = int(word)
            found += [spelling.cuda_from_int(number), spelling.cudnn_from_int(number)]
    return found


def nvidia_require(data: bytes) -> object:
    """`VARIABLE=expression` lines."""
    environment = dict(line.partition("=")[::2] for line in _text(data).splitlines())
    asked = require.requirements(environment)
    judges = (require.evaluate_libnvidia_container, require.evaluate_container_toolkit)
    return [evaluate(asked, host) for evaluate in judges for host in HOSTS]


def torch_version(data: bytes) -> object:
    found = pytorch.parse_version_file(_text(data))
    return found and found.build


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _one_line(error: Exception) -> str:
    text = str(error)
    assert text and len(text.splitlines()) == 1, f"not one line: {text!r}"
    return text


@cache
def _folder() -> Path:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="gpudoctor-fuzz-", dir=base))


def judged(snapshot: Snapshot, policy: Policy, data: bytes) -> object:
    """The Snapshot can be written, whatever is in it; now and then it is taken to the end."""
    written = msgspec.json.encode(snapshot)
    if sum(data[:4096]) % JUDGED_EVERY:
        return len(written)
    found = judge(snapshot, matrix(), policy)
    failed = [check.reason for check in found.checks if "the check itself failed" in check.reason]
    assert not failed, failed[0]
    found = redact(found, LocalNames(user="jane", host="box", home="/home/jane"))
    layers = {check.id: load(check.id).about.layer for check in found.checks}
    json.loads(render_json(found))
    render_markdown(found, layers).encode("utf-8", "backslashreplace")
    return render_terminal(found, layers, Display(verbose=2, width=80)).encode("utf-8", "backslashreplace")
