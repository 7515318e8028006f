"""JAX runs on the CPU: its CUDA plugin is not installed, or its version differs from jaxlib's.

What is wrong: jaxlib itself contains no GPU code. GPU support comes from a plugin (jax-cuda12-plugin or
jax-cuda13-plugin, with the matching -pjrt package) whose version must match jaxlib's exactly; before 0.4.30, it came
with a jaxlib whose version ends in +cuda12.

Symptoms: `An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back
to cpu.`, `JAX plugin jax_cuda12_plugin version 0.7.2 is installed, but it is not compatible with the installed jaxlib
version 0.7.1, so it will not be used`, `jax.devices()` lists only CpuDevice.

Why it happens: `pip install jax` without a CUDA extra, another package that depends on plain jax, or an upgrade of
jaxlib alone.

How to fix it: install jax with its CUDA extra (cuda13 with driver 580 or newer, otherwise cuda12).

This is a warning. It is only a note if PyTorch is installed (JAX may then be just a helper), and a failure with
`--require jax`.

Source: docs.jax.dev/en/latest/installation.html; jaxlib/plugin_support.py.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.frameworks import cuda_major_for, install_jax
from ..snapshot import Snapshot, known
from ._frameworks import gpu_wanted, installed, weight

CHECK = Check(
    __name__,
    title="JAX falls back to the CPU",
    sound="No missing or mismatched CUDA plugin was found for JAX",
    severity="error",
    layer="extension",
    tags=("framework", "jax"),
    downstream_of=("no-nvidia-gpu",),
    source="docs.jax.dev/en/latest/installation.html",
)

_PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin")


_WHOLE_LIST = 12
"""If only some packages are reported, fewer than this are not the full list."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns where JAX has no CUDA plugin that matches its jaxlib."""
    lib, jax = installed(s, "jaxlib"), installed(s, "jax")
    if lib is None or jax is None:
        raise Skip("JAX is not installed", without="jax")
    gpu_wanted(s, p)
    plugin = installed(s, *_PLUGINS)
    if "+cuda" in lib.version or lib.installer == "conda":
        return
    if plugin is None and s.python.distributions_partial and len(known(s.python.distributions) or ()) < _WHOLE_LIST:
        raise NotExamined("only some of the installed packages are known")
    facts = {"jax": jax.version, "jaxlib": lib.version, "plugin": f"{plugin.name} {plugin.version}" if plugin else None}
    if plugin is None:
        title = f"JAX {jax.version} has no CUDA plugin, so it runs on the CPU"
        detail = "jaxlib itself has no GPU code, and neither jax-cuda12-plugin nor jax-cuda13-plugin is installed."
        major = cuda_major_for(s)
    elif numbers(plugin.version)[:3] != numbers(lib.version)[:3]:
        title = f"{plugin.name} {plugin.version} does not match jaxlib {lib.version}, so it is not used"
        detail = "The plugin must have the same version as jaxlib."
        major = 13 if "cuda13" in plugin.name else 12
    else:
        return
    fix = install_jax(s, jax.version, major, [plugin.name] if plugin else [])
    how = weight(s, p, "jax", "jaxlib")
    say = {"fail": CHECK.fail, "warn": CHECK.warn}.get(how, CHECK.remark)
    yield say(title, detail, facts=facts, subject="jax", fixes=(fix,))
