"""Part of torch's agents: settings of `torch.backends`, which differ from release to release.

Before 2.0 these objects answer a name that they do not have with AssertionError, which hasattr and getattr let pass;
newer ones raise RuntimeError for a name that was given up. A setting that cannot be read or set is not there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def backend(torch: Any, *names: str) -> Any:
    """The object `torch.backends.NAME.NAME`, whose settings are for the functions below; None where there is none.

    Raises AttributeError where this is no torch.
    """
    found = torch.backends
    for name in names:
        found = setting(found, name)
    return found


def setting(of: Any, name: str) -> Any:
    """Its value; None where this torch has no such setting."""
    try:
        return getattr(of, name)
    except Exception:
        return None


def set_tf32(of: Any, on: bool) -> None:
    """TF32 in float32 products or convolutions, by the name that this torch has for it (another since 2.9).

    Raises RuntimeError where it has neither: rounded inputs would look like wrong results.
    """
    precision = "tf32" if on else "ieee"
    if not set_to(of, "allow_tf32", on) and not set_to(setting(of, "conv") or of, "fp32_precision", precision):
        raise RuntimeError("TF32 cannot be switched " + ("on" if on else "off") + " in this torch")


def set_to(of: Any, name: str, value: Any) -> bool:
    """Whether this torch took the value."""
    try:
        setattr(of, name, value)
    except Exception:
        return False
    return True
