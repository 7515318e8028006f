"""A /proc made by hand, for what no test machine has: GPUs held open, CUDA libraries mapped, workers at will."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class ProcFolder:
    """Processes laid out as the kernel lays them out. CPU times in clock ticks of 10 ms."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)

    def put(
        self,
        pid: int,
        parent: int,
        ticks: int = 0,
        *,
        name: str = "python3",
        line: Sequence[str] = ("python3", "train.py"),
        start: int = 100,
        state: str = "S",
        threads: dict[int, int] | None = None,
        files: Sequence[str] = (),
        maps: str = "",
    ) -> None:
        """Make or change a process."""
        folder = self.root / str(pid)
        tasks = threads or {pid: ticks}
        for place, tid, cpu, count in [
            (folder, pid, ticks, len(tasks)),
            *((folder / "task" / str(t), t, c, 1) for t, c in tasks.items()),
        ]:
            place.mkdir(parents=True, exist_ok=True)
            rest = [state, parent, 1, 1, 0, -1, 0, 0, 0, 0, 0, cpu, 0, 0, 0, 20, 0, count, 0, start, 0, 0]
            (place / "stat").write_text(f"{tid} ({name}) {' '.join(map(str, rest))}\n")
        (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in line))
        (folder / "maps").write_text(maps)
        (folder / "fd").mkdir(exist_ok=True)
        for number, target in enumerate(files):
            (folder / "fd" / str(number)).symlink_to(target)

    def end(self, pid: int) -> None:
        """The process is gone."""
        import shutil

        shutil.rmtree(self.root / str(pid))
