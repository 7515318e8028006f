"""What a command line asks of the gatherers; light, because it is needed before anything heavy is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..guard import Refusal

if TYPE_CHECKING:
    from typing import Any

    from ..probes.start import Options, Started

MARGIN_S = 3.0
"""Reserved from a healthcheck's total deadline for judging and exiting, in case other processes need the cores too."""

MORE_S = 1.0
"""A child that made progress, or had no core, may use this much of it; the rest is enough for judging alone."""


def begin(command: str, flags: dict[str, Any]) -> Started | None:
    """A run started at once if the command examines this machine; None if it reads something else."""
    if any(flags.get(name) for name in ("from_", "replay", "root", "target")) or flags.get("prove"):
        return None
    from ..probes.start import Started

    return Started(options(health_flags(flags) if command == "healthcheck" else flags))


def health_flags(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags of `healthcheck` as flags of `check`: its timeout covers everything."""
    from .watchdog import DEFAULT_S, age_s

    total = flags["timeout"] or DEFAULT_S
    seconds = max(gather_s(total) - age_s(), gather_s(total) / 2)
    patience = 1 + min(MORE_S, total / 10) / seconds
    return {**flags, "timeout": seconds, "no_import": True, "root": None, "replay": None, "patience": patience}


def gather_s(total_s: float) -> float:
    """How much of a healthcheck's time is for gathering."""
    return max(total_s - MARGIN_S, total_s / 2)


def options(flags: dict[str, Any]) -> Options:
    """What the gatherers are asked. Raises Refusal for an impossible `--root` or `--python`."""
    from ..probes.start import PATIENCE, Options

    seconds = flags["timeout"] or 20.0
    root = "/"
    if flags["root"]:
        from ..targets.root import NotARoot, root_folder

        try:
            root = root_folder(flags["root"])
        except NotARoot as error:
            raise Refusal(str(error)) from None
    refuse_special_python(flags)
    return Options(
        python=flags["python_"],
        root=root,
        import_torch=not flags["no_import"],
        deadline_s=seconds,
        import_deadline_s=3 * seconds,
        patience=flags.get("patience") or PATIENCE,
        require=[name.strip().replace("_", "-").replace(".", "-").lower() for name in flags.get("require") or ()],
        deep=bool(flags.get("deep")),
    )


def refuse_special_python(flags: dict[str, Any]) -> None:
    """A FIFO, socket or device is not an interpreter. Raises Refusal."""
    if flags["python_"]:
        from ..formats.given import Unopened, refuse_special

        try:
            refuse_special(flags["python_"])
        except Unopened as error:
            raise Refusal(f"--python: {error}") from None
