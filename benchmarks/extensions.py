"""Does a compiled extension load beside this torch? gpudoctor's answer from the files against the loader's own.

    python benchmarks/extensions.py PYTHON WHEEL_FOLDER

PYTHON has torch (the small CPU build will do); WHEEL_FOLDER has wheels of extensions of any torch, such as
`pip download --no-deps -d WHEEL_FOLDER xformers==0.0.28.post3 fbgemm-gpu-cpu==1.2.0`. Each is unpacked
into a folder of its own, and each of its libraries that calls torch is opened by that Python after `import torch`. A
library that the loader refuses for another reason (a library that it needs is not there or is refused) is counted
apart.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from doctor.probes import tools

_OPEN = """import ctypes, os, sys, torch
try:
    ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
except OSError as error:
    print(error)
"""
_TORCH = re.compile(r"undefined symbol: _ZNK?(3c10|2at|5torch|6caffe2)")


def main(python: str, wheels: str) -> int:
    where = "import os, torch; print(os.path.dirname(torch.__file__), torch.__version__)"
    folder, version = subprocess.check_output([python, "-c", where], text=True).split()
    torch = [
        str(path) for path in sorted(Path(folder, "lib").glob("lib*.so")) if re.match("lib(torch|c10|shm)", path.name)
    ]
    print(
        f"torch {version}\n\n| wheel | libraries that call torch | load | do not | gpudoctor said so | other reasons |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    wrong = 0
    for wheel in sorted(Path(wheels).glob("*.whl")):
        with tempfile.TemporaryDirectory() as site:
            zipfile.ZipFile(wheel).extractall(site)
            libraries = [str(path) for path in sorted(Path(site).rglob("*.so*"))]
            count: Counter[str] = Counter()
            for path in libraries:
                found = tools.torch_calls(path, torch, [other for other in libraries if other != path])
                if not found or not found["symbols"]:
                    continue
                error = subprocess.run([python, "-c", _OPEN, path], capture_output=True, text=True).stdout
                # A library that it needs may be the one that is refused: that one has a row of its own.
                refused = error.startswith(path) and bool(_TORCH.search(error))
                count["all"] += 1
                count["other" if error and not refused else "refused" if refused else "loads"] += 1
                if error and not refused:
                    continue
                count["said"] += refused and bool(found["missing"])
                if refused != bool(found["missing"]):
                    wrong += 1
                    print(
                        f"  wrong: {Path(path).name}: {error.strip() or 'loads'}; {found['missing'][:2]}",
                        file=sys.stderr,
                    )
            name = "-".join(wheel.name.split("-")[:2])
            row = (count["all"], count["loads"], count["refused"], count["said"], count["other"])
            print(f"| {name} | {' | '.join(map(str, row))} |")
    print(f"\n{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
