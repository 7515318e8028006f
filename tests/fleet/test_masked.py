"""No user, address or secret is in a fleet's database, whatever brought it there; the names of nodes are."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from doctor.cli import run
from doctor.findings import Policy
from doctor.findings.policy import FoundConfig
from doctor.snapshot import Target

from ..cli.command import gpudoctor
from ..rows import for_each
from .spool import TODAY, envelope, load, machine, report

WORDS = ("alice", "10.9.8.7", "hf_abcdefghij", "s3cret")


def contents(database: Path) -> str:
    """All that is stored, unpacked."""
    db = sqlite3.connect(database)
    tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
    parts: list[str] = []
    for table in tables:
        parts += map(repr, db.execute(f"select * from {table}" if table != "section" else "select id from section"))
    packed = {number: (base, data) for number, base, data in db.execute("select id, base, content from section")}
    for base, data in packed.values():
        head = zlib.decompress(packed[base][1])[-32768:] if base else b""
        inflate = zlib.decompressobj(zdict=head) if head else zlib.decompressobj()
        parts.append(inflate.decompress(data).decode())
    return "\n".join(parts)


CONFIGURED: dict[str, Policy] = {
    "its own": replace(TODAY, config="/home/alice/.config/gpudoctor/config.toml"),
    "one that was found": replace(
        TODAY, found=FoundConfig(path="/home/alice/job/gpudoctor.toml", ignored=('matrix = "/home/alice/m"',))
    ),
}


@for_each("policy", CONFIGURED.values(), ids=CONFIGURED)
@for_each("masked", ["by its gpudoctor", "by an older one", "not"])
def test_the_path_of_a_configuration_names_nobody(policy: Policy, masked: str, tmp_path: Path) -> None:
    data: dict[str, Any] = json.loads(report(machine(), policy=policy, masked=masked == "by its gpudoctor"))
    data["redacted"] = masked != "not"
    (tmp_path / "gpu-1.json").write_text(json.dumps(data))
    assert ("alice" in json.dumps(data)) == (masked != "by its gpudoctor")
    code, _ = load(tmp_path / "gpu-1.json", to=tmp_path / "now.db")
    assert code == 0 and "alice" not in contents(tmp_path / "now.db")
    again = gpudoctor("fleet", "report", tmp_path / "now.db", "--node", "gpu-1", "--format", "json").stdout
    assert b"/home/user-1/" in again and b"alice" not in again


@for_each("kind, name", [("ssh", "ssh:alice@10.9.8.7"), ("root", "/home/alice/rootfs")])
def test_the_name_of_a_target_names_nobody(kind: str, name: str, tmp_path: Path) -> None:
    s = machine().replace({"target": Target(kind=kind, name=name)})
    (tmp_path / "gpu-1.json").write_bytes(report(s, masked=False))
    assert load(tmp_path / "gpu-1.json", to=tmp_path / "now.db")[0] == 0
    assert not [word for word in WORDS if word in contents(tmp_path / "now.db")]


REASONS = [
    "ssh: connect to alice@10.9.8.7 port 22: Connection refused",
    "drained by alice since 24 Nov",
    "scp /home/alice/x failed: TOKEN=s3cret-0123456789",
    "gpu-1: pull of https://alice:s3cret@10.9.8.7/x failed",
]


def test_what_a_collector_says_names_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "alice" / "spool"
    folder.mkdir(parents=True)
    for number, reason in enumerate(REASONS):
        (folder / f"silent-{number}.json").write_text(json.dumps({"node": f"gpu-{number}", "reason": reason}))
    answered = envelope("gpu-9", report(machine()), received=2000.0)
    said = json.dumps({"node": "gpu-9", "reason": REASONS[0], "received": 1000.0}).encode()
    (folder / "both.jsonl").write_bytes(answered + said + b"\nPASSWORD=s3cret-0123456789 alice@10.9.8.7 said no\n")
    (folder / "half.json.tmp").write_text("")
    to = tmp_path / "now.db"
    assert load(folder, to=to)[0] == 0
    assert not [word for word in WORDS if word in contents(to).replace(str(tmp_path), "")], contents(to)
    names = {name for (name,) in sqlite3.connect(to).execute("select node from node")}
    assert names == {"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-9"}
    files = {Path(file).name for (file,) in sqlite3.connect(to).execute("select file from refused")}
    assert files == {"both.jsonl", "half.json.tmp"}
    assert run(["fleet", "report", str(to), "--format", "json", "-o", str(tmp_path / "report.json")]) == 3
    assert "Connection refused" in (tmp_path / "report.json").read_text()
