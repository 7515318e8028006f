"""How long `gpudoctor topo` takes with a saved report: of 8 and of 72 GPUs. `python -m benchmarks.topo`"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.cli.command import save
from tests.topo.test_topo_command import joined

SAMPLES = 11


def main() -> None:
    """Print the median of several runs, in milliseconds."""
    for count in (8, 72):
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, "-m", "doctor", "topo", "--from", str(save(Path(folder), joined(count, 18)))]
            taken = []
            for _ in range(SAMPLES):
                begun = time.perf_counter()
                subprocess.run(argv, capture_output=True, check=True)
                taken.append(time.perf_counter() - begun)
        print(f"{count} GPUs: {1000 * median(taken):.0f} ms")


if __name__ == "__main__":
    main()
