"""Whether the package `doctor` is gpudoctor's own: a different distribution with that name uses the same folder."""

from __future__ import annotations

from importlib.util import find_spec


class NotOurs(ImportError):
    """The package `doctor` belongs to another distribution, in whole or in part."""


def owned() -> None:
    """Raises NotOurs with one line that says whose it is and what to do."""
    if find_spec("doctor") is not None and find_spec("doctor.guard") is not None:
        return
    from importlib.metadata import packages_distributions

    others = sorted(set(packages_distributions().get("doctor", [])) - {"gpudoctor"})
    whose = f"the distribution {others[0]}" if others else "another distribution"
    raise NotOurs(
        f"gpudoctor: the package 'doctor' here belongs to {whose}; install gpudoctor in a separate environment "
        "(uvx gpudoctor, pipx install gpudoctor), or pip uninstall that distribution and reinstall gpudoctor"
    )
