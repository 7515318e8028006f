"""One file with gpudoctor and all that it needs: `python scripts/make_pyz.py gpudoctor.pyz`.

Then `python3 gpudoctor.pyz check`.

It runs under Python 3.10 to 3.14 of Linux on this machine's processor, with nothing installed. On its first start it
unpacks itself into the user's cache ($XDG_CACHE_HOME/gpudoctor), or below /tmp where that cannot be written: msgspec's
compiled part cannot be loaded from inside an archive. Needs pip and, to build, the package index that pip uses.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import zipapp
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
START = ROOT / "scripts" / "pyz_main.py"


def install(folder: Path) -> None:
    """gpudoctor and what it needs, with msgspec's and MarkupSafe's compiled parts for each Python."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--no-compile", "--target", str(folder), str(ROOT)], check=True)
    version = next(folder.glob("msgspec-*.dist-info")).name.removesuffix(".dist-info").split("-")[1]
    machine = platform.machine()
    for python in PYTHONS:
        wanted = ["--only-binary", ":all:", "--no-deps", "--python-version", python, "--implementation", "cp"]
        for tag in ("manylinux2014", "manylinux_2_17", "manylinux_2_28"):
            wanted += ["--platform", f"{tag}_{machine}"]
        with tempfile.TemporaryDirectory() as beside:
            names = [f"msgspec=={version}", *(["tomli"] if python == "3.10" else [])]
            subprocess.run([*pip, "install", "--no-compile", "--target", beside, *wanted, *names], check=True)
            for path in Path(beside).rglob("*"):
                goal = folder / path.relative_to(beside)
                if path.is_file() and not goal.exists() and "dist-info" not in str(path):
                    goal.parent.mkdir(parents=True, exist_ok=True)
                    goal.write_bytes(path.read_bytes())


def main() -> int:
    """Build the file that is named."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python scripts/make_pyz.py FILE")
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder, "inside")
        install(inside)
        (inside / "__main__.py").write_bytes(START.read_bytes())
        zipapp.create_archive(inside, sys.argv[1], interpreter="/usr/bin/env python3", compressed=True)
    print(f"{sys.argv[1]}: {Path(sys.argv[1]).stat().st_size / 1e6:.1f} MB, Python {PYTHONS[0]} to {PYTHONS[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
