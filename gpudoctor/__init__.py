"""gpudoctor in Python: the reports its commands print, as typed values.

    import gpudoctor

    report = gpudoctor.check()              # this machine, and the Python running this
    report.verdict                          # 'pass', 'warn', 'fail' or 'unknown'
    for finding in report.findings:         # the root cause first
        print(finding.title, finding.fixes[0].steps[0].command)
    gpudoctor.explain("CUDA error: no kernel image is available for execution on the device")
    gpudoctor.resolve(gpus=["RTX 5090"], driver="575").best.pip
    gpudoctor.compare("yesterday.json").appeared  # what is new on this machine, and which change explains it

Each call runs the command in a separate process, so a hang or crash in a driver cannot take yours down. Anything not
named here is not public.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from typing import Any

    from ._face import check, compare, explain, resolve
    from ._values import Build, Comparison, Refused, Report, Resolution

    __version__: str

__all__ = [
    "Build", "Comparison", "Refused", "Report", "Resolution", "__version__", "check", "compare", "explain", "resolve",
]  # fmt: skip
_IN_VALUES = ("Build", "Comparison", "Refused", "Report", "Resolution")


def __getattr__(name: str) -> Any:
    """Load what `import gpudoctor` need not wait for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._owner import owned

    owned()
    if name == "__version__":
        from doctor import __version__

        return __version__
    from . import _face, _values

    return getattr(_values if name in _IN_VALUES else _face, name)


def __dir__() -> list[str]:
    return list(__all__)
