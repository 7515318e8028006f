"""A text may be packed: nvidia-bug-report.log.gz is read as it is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from doctor.cli import run
from doctor.text.clean import MAX_BYTES

from ..rows import for_each

Capture = pytest.CaptureFixture[str]
REPORT = b"NVRM version:   535.129.03\nNVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.\n"


@for_each("left", [1.0, 0.9])
def test_a_packed_report_is_read_also_where_its_end_is_cut_off(left: float, tmp_path: Path, capsys: Capture) -> None:
    packed = gzip.compress(REPORT + b"a line\n" * 2000)
    path = tmp_path / f"nvidia-bug-report{left}.log.gz"
    path.write_bytes(packed[: int(left * len(packed))])
    assert run(["explain", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["id"] == "gpu-fell-off-bus"


def test_what_is_damaged_or_unpacks_to_too_much_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "x.gz"
    for data, words in (
        (b"\x1f\x8b" + b"\x00" * 50, "damaged gzip"),
        (gzip.compress(b"a" * (MAX_BYTES + 10)), "over 50 MB"),
    ):
        path.write_bytes(data)
        assert run(["explain", str(path)]) == 2
        error = capsys.readouterr().err.strip()
        assert words in error and "\n" not in error
