"""A compiled extension (flash-attn, xformers, vllm ...) was built for a different torch or a different C++ ABI.

What is wrong: an extension calls functions inside torch's libraries. A different torch release, a build with the other
C++ ABI, or a build for a different CUDA major version does not have the functions that the extension was compiled
against.

Symptoms: `ImportError: flash_attn_2_cuda...so: undefined symbol: _ZN3c105ErrorC2E...`, `xFormers was built for:
PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.2.0)`, `vllm/_C.abi3.so: undefined symbol`.

Why it happens: torch was upgraded or replaced after the extension was installed (a later line of requirements.txt is
enough), or somebody picked a wheel for a different torch or the other ABI (cxx11abiTRUE, cxx11abiFALSE).

How to fix it: install the extension build that was made for this torch, or build it against this torch; see the
command.

Nothing is imported: for each torch function that a library calls, gpudoctor checks whether the installed torch has it,
as the loader does. The check fails for a package if all of its libraries need functions that are missing, or, if the
package is required (`--require`), if any of them does; otherwise it warns. It also fails if the wheel's own tag or an
exact pin names a different torch minor version; a mismatch with any other requirement in the metadata is a warning. A
required package is reported as a note if its libraries could not be examined and it names no torch version. Version
numbers of nightly or vendor builds of torch are not compared, and an xformers whose `xformers.info` names this torch as
build.torch_version is accepted, whatever its release number.

Source: dynamic symbols of the extension and of torch; Requires-Dist and direct_url.json of the extension; names of
release wheels; torch's TorchConfig.cmake.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Fix, Matrix, Policy
from ..findings.patterns import lazy
from ..fixes.extension_install import compatible_wheel
from ..fixes.extensions import another, linked_to_torch
from ..fixes.torch_bound import misfit, torch_here, torch_of_tag
from ..snapshot import Distribution, Snapshot, TorchCaller, known, need
from ._errors import texts
from ._torch import OTHER_BUILD, REPLACED, installed

CHECK = Check(
    __name__,
    title="An extension was built for a different torch version",
    sound="The extensions were built for this torch",
    severity="error",
    layer="extension",
    tags=("torch", "extension"),
    downstream_of=(
        *OTHER_BUILD,
        *REPLACED,
        "image-torch-replaced",
        "torch-installed-twice",
        "user-site-shadows-packages",
    ),
    needs_gpu=False,
)

_OTHER_CHECKS = ("torch", "torchvision", "torchaudio", "torchtext", "torchcodec", "triton", "torchao", "torchdata")
_SYMBOL = lazy(r"([\w.-]+\.so[\w.]*): undefined symbol: (_Z\w*(?:c10|2at|torch|caffe2)\w*)")
_PIN = lazy(r"torch\s*\(?==[^;]*(?:;(?!.*\bextra\b)|$)")
_OWN = lazy(r"(lib(torch|c10|caffe2|shm)|_C\.|torchvision|torchaudio)")
_FILES = {
    "flash_attn": "flash-attn", "causal_conv1d": "causal-conv1d", "selective_scan": "mamba-ssm", "_C_": "xformers",
    "exllamav2": "exllamav2", "transformer_engine": "transformer-engine",
}  # fmt: skip


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each extension whose tag, pin or missing symbols show a different torch; warns about unmet bounds."""
    version = installed(s)
    distributions = need("python.distributions", s.python.distributions)
    import_errors = _import_errors(s)
    torch = torch_here(s)
    callers = _callers(s)
    seen: set[str] = set()
    for d in distributions:
        if d.name in seen or d.name in _OTHER_CHECKS:
            continue
        seen.add(d.name)
        wrong = misfit(s, m, d, torch)
        lacking = [caller for caller in callers.get(d.name, ()) if caller.missing_count]
        if wrong is None and not lacking and d.name not in import_errors:
            if d.name in p.require and d.name in linked_to_torch(s) and not (d.name in callers or _names_torch(d)):
                yield _open(d)
            continue
        title = f"{d.name} {d.version} does not match torch {version}"
        facts = {"torch": version, d.name: d.version, **(wrong.facts if wrong else {})}
        detail = [f"{wrong.reason}." if wrong else ""]
        if d.name in import_errors:
            detail.append(f"Python reports: {import_errors[d.name]}")
            facts["symbol"] = import_errors[d.name].rpartition(" ")[2]
        elif lacking:
            detail.append(_lacks(lacking[0]))
            facts["symbol"] = lacking[0].missing[0]
        whole = lacking and (d.name in p.require or len(lacking) == len(callers[d.name]))
        say = CHECK.fail if d.name in import_errors or whole or (wrong and wrong.certain) else CHECK.warn
        fixes = (*_wheel(s, m, d.name), *another(s, d))
        yield say(title, " ".join(filter(None, detail)), facts=facts, subject=d.name, fixes=fixes)
    for name in import_errors.keys() - seen:
        d = Distribution(name=name, version="", location="")
        title = f"{name} does not match torch {version}: it needs a symbol that torch does not have"
        yield CHECK.fail(
            title,
            import_errors[name],
            facts={"torch": version},
            subject=name,
            fixes=(*_wheel(s, m, name), *another(s, d)[1:]),
        )


def _callers(s: Snapshot) -> dict[str, list[TorchCaller]]:
    """For each package, its libraries that call torch."""
    found: dict[str, list[TorchCaller]] = {}
    for caller in known(s.torch.callers) or ():
        found.setdefault(caller.package, []).append(caller)
    return found


def _lacks(caller: TorchCaller) -> str:
    file, count = caller.path.rpartition("/")[2], caller.missing_count
    what = "a function" if count == 1 else f"{count} functions"
    which = caller.missing[0] if count == 1 else f"for example {caller.missing[0]}"
    return f"{file} cannot be imported because it calls {what} that this torch does not have: {which}."


def _names_torch(d: Distribution) -> bool:
    """Whether its wheel's tag or an exact pin says which torch it was built for."""
    return torch_of_tag(d) is not None or any(_PIN.match(line) for line in known(d.requires) or ())


def _open(d: Distribution) -> Finding:
    """A required package that only an import can test: built here, or a wheel that lost its tag."""
    name = d.name.replace("-", "_")
    return CHECK.remark(
        f"{d.name} {d.version} does not say which torch it was built for",
        f"Its libraries could not be compared with torch's. To see whether it loads: python3 -c 'import {name}'.",
        facts={d.name: d.version},
        subject=d.name,
    )


def _import_errors(s: Snapshot) -> dict[str, str]:
    """Package -> `FILE: undefined symbol: ...`, if the symbol is one of torch's C++ names."""
    found = {}
    for file, symbol in _SYMBOL.findall(texts(s)):
        if not _OWN.match(file):
            stem = file.partition(".")[0]
            name = next((n for start, n in _FILES.items() if stem.startswith(start)), stem)
            found[name] = f"{file}: undefined symbol: {symbol}"
    return found if known(s.torch.version) else {}


def _wheel(s: Snapshot, m: Matrix, name: str) -> tuple[Fix, ...]:
    found = compatible_wheel(s, m, name)
    return (found,) if found else ()
