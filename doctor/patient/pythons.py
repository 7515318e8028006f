"""Gather the patient's Python and the other environments with torch, from files alone.

Emits `python` lines: {role: patient | other, rule, because, prefix, executable, real_executable, kind hints: cfg
(pyvenv.cfg as text), conda_python, managed; dead: {path, target} of a lost interpreter; stdlib: as python3.13t; base,
site_packages, torch}, one `dir` line for each site-packages folder, and the lines of `packages.py` for the patient.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .files import Files
from .interpreters import choose, dead
from .loader import Loader
from .packages import gather_packages
from .path_words import clean

_STDLIB = r"python3\.(\d+)t?$"
_MAX_PTH = 64
_RUN = ("import ", "import\t")
"""How a line of a .pth file begins that Python runs (docs.python.org/3/library/site.html)."""
_INSERTS = re.compile(r"sys\.path\.insert\(\s*0\s*,\s*[\"'](/[^\"']+)[\"']\s*\)")
"""A folder that such a line puts before all others."""
_MAX_SITE = 64
_OTHER_GLOBS = (
    "~/.pyenv/versions/*", "~/miniconda3", "~/miniconda3/envs/*", "~/anaconda3", "~/anaconda3/envs/*", "~/miniforge3",
    "~/miniforge3/envs/*", "~/mambaforge", "~/mambaforge/envs/*", "~/.conda/envs/*", "~/.virtualenvs/*", "~/venv",
    "~/.venv", "/opt/*", "/opt/conda/envs/*", "/opt/micromamba/envs/*", "/venv", "/venv/*", "/workspace/venv",
    "/workspace/.venv", "/root/venv", "/usr/local", "/usr", "./.venv", "./venv", "./env",
)  # fmt: skip
_MAX_OTHERS = 200
_DIST = (".dist-info", ".egg-info", ".egg-link")


def gather_pythons(
    files: Files, env: Optional[Mapping[str, str]], tools: Any, options: Mapping[str, Any], loader: Loader
) -> Optional[Dict[str, Any]]:
    """Emit `python` lines; the patient's. Options: python, cwd, own_prefix, own_executable, scan, objects, deep,
    whole."""
    choice = choose(files, env, options, lambda prefix: bool(_torch(files, _environment(files, prefix, "", {}))))
    patient = None
    if choice is None:
        files.emit({"at": "python", "role": "patient", "prefix": None, "asked": options.get("python")})
    else:
        cwd = str(options.get("cwd") or "")
        patient = _environment(files, choice.prefix, choice.executable, _from(cwd, env or {}))
        patient.update(dead(files, choice, options), role="patient", rule=choice.rule, because=clean(choice.because))
        if cwd.startswith("/"):
            hiding = [cwd + name for name in ("/torch.py", "/torch/__init__.py") if files.kind(cwd + name) == "file"]
            patient["hidden_by"] = [clean(path) for path in hiding if cwd not in patient["site_packages"]]
        patient["torch"] = _torch(files, patient)
        if env is not None:
            path_folders = [folder for folder in env.get("PATH", "").split(":") if folder.startswith("/")]
            patient["uv"] = any(files.kind(folder + "/uv") == "file" for folder in path_folders)
        files.emit(_cleaned(patient))
        gather_packages(
            files,
            patient["site_packages"],
            tools,
            loader,
            bool(options.get("scan", True)),
            options.get("objects", []),
            bool(options.get("deep")),
        )
    if options.get("others", True):
        _others(files, env or {}, options, patient)
    files.emit({"at": "others", "complete": True})
    return patient


def _from(cwd: str, env: Mapping[str, str]) -> Mapping[str, str]:
    """The variables with relative entries of PYTHONPATH made absolute: `PYTHONPATH=src` counts."""
    entries = env.get("PYTHONPATH", "").split(":")
    if not cwd.startswith("/") or all(entry.startswith("/") for entry in entries):
        return env
    kept = [e if e.startswith("/") else os.path.normpath(cwd + "/" + e) for e in entries if e not in ("", ".", "./")]
    return dict(env, PYTHONPATH=":".join(kept))


def _environment(files: Files, prefix: str, executable: str, env: Mapping[str, str]) -> Dict[str, Any]:
    """The `python` line of an environment given by its prefix, its interpreter, or both."""
    real = files.resolved(executable) if executable else ""
    if not prefix:
        near = os.path.dirname(os.path.dirname(executable))
        prefix = near if files.kind(near + "/pyvenv.cfg") else os.path.dirname(os.path.dirname(real))
    cfg = files.text(prefix + "/pyvenv.cfg", 16384)
    stdlib = _stdlib(files, prefix, real or executable)
    line: Dict[str, Any] = {
        "at": "python", "prefix": prefix, "executable": executable, "real_executable": real, "cfg": cfg,
        "stdlib": stdlib[1], "conda": files.kind(prefix + "/conda-meta") == "dir",
    }  # fmt: skip
    if line["conda"]:
        names = files.names(prefix + "/conda-meta", _conda_python) or []
        line["conda_python"] = next((name for name in names if _conda_python(name)), None)
    if executable and stdlib[1]:
        base = os.path.dirname(os.path.dirname(real or executable))
        line["headers"] = files.kind(base + "/include/" + stdlib[1] + "/Python.h") == "file"
        libs = [base + lib + stdlib[1] + "/ensurepip/__init__.py" for lib in ("/lib/", "/lib64/")]
        line["ensurepip"] = any(files.kind(path) == "file" for path in libs)
    site = [] if prefix == "/usr" and cfg is None else [stdlib[0] + "/site-packages"]
    user = _user_site(stdlib[1], env)
    if cfg is None:
        site = user + _system_site(files, prefix, stdlib)
        line["managed"] = files.kind(stdlib[0] + "/EXTERNALLY-MANAGED") == "file"
    elif re.search(r"^[ \t]*include-system-site-packages[ \t]*=[ \t]*true[ \t\r]*$", cfg, re.M | re.I):
        home = re.search(r"^[ \t]*home[ \t]*=[ \t]*(/\S.*)$", cfg, re.M)
        if home:
            base = os.path.dirname(files.resolved(home.group(1).strip() + "/python3").rpartition("/")[0])
            line["base"] = base
            site += user + _system_site(files, base, _stdlib(files, base, stdlib[1]))
    paths = [p for p in env.get("PYTHONPATH", "").split(":") if p.startswith("/")]
    line["site_packages"] = _with_pth(files, paths, site)
    line["writable"] = files.writable(stdlib[0] or prefix)
    return line


def _conda_python(name: str) -> bool:
    return re.match(r"python-3\.\d+\.\d+-", name) is not None


def _stdlib(files: Files, prefix: str, hint: str) -> Tuple[str, str]:
    """(folder, its name): PREFIX/lib/python3.11 by the interpreter's own name, else the newest that is there."""
    named = re.search(r"python(3\.\d+t?)$", hint)
    two = files.kind(prefix + "/lib64") == "dir" and not files.readlink(prefix + "/lib64")
    libs = ["/lib64/", "/lib/"] if two else ["/lib/"]
    if named:
        for lib in reversed(libs):
            if files.kind(prefix + lib + "python" + named.group(1)) == "dir":
                return prefix + lib + "python" + named.group(1), "python" + named.group(1)
    found = []
    for lib in libs:
        try:
            names = files.listed(prefix + lib)
        except OSError:
            continue
        for name in names:
            match = re.match(_STDLIB, name)
            folder = prefix + lib + name
            if match and (files.kind(folder + "/site-packages") or files.kind(folder + "/os.py")):
                found.append((int(match.group(1)), folder, name))
    return max(found)[1:] if found else ("", "")


def _user_site(stdlib: str, env: Mapping[str, str]) -> List[str]:
    if env.get("PYTHONNOUSERSITE") or not stdlib:
        return []
    base = env.get("PYTHONUSERBASE") or (env["HOME"] + "/.local" if env.get("HOME") else "")
    return [base + "/lib/" + stdlib + "/site-packages"] if base.startswith("/") else []


def _system_site(files: Files, prefix: str, stdlib: Tuple[str, str]) -> List[str]:
    """Site folders of a Python that is no venv, with those of Debian and Fedora."""
    folder, name = stdlib
    if not folder:
        return []
    if prefix == "/usr":
        return [
            "/usr/local/lib/%s/dist-packages" % name,
            "/usr/lib/python3/dist-packages",
            folder + "/dist-packages",
            "/usr/local/lib64/%s/site-packages" % name,
            "/usr/local/lib/%s/site-packages" % name,
            "/usr/lib64/%s/site-packages" % name,
            "/usr/lib/%s/site-packages" % name,
        ]
    return [folder + "/site-packages", folder + "/dist-packages"]


def _with_pth(files: Files, first: List[str], site: List[str]) -> List[str]:
    """The folders that exist, each once by its real path: what .pth files put first, then each site folder followed by
    what its .pth files add."""
    found: List[str] = []
    seen: Dict[str, bool] = {}

    def add(folder: str) -> bool:
        if files.kind(folder) != "dir":
            return False
        real = files.resolved(folder)
        if real in seen:
            return False
        if len(found) >= _MAX_SITE:
            files.cap("package-folders", _MAX_SITE, None)
            return False
        seen[real] = True
        found.append(folder)
        return True

    for folder in first:
        add(os.path.normpath(folder))
    lines = {folder: _pth_lines(files, folder) for folder in site if files.kind(folder) == "dir"}
    for line in [line for folder in lines for line in lines[folder] if line.startswith(_RUN)]:
        inserted = _INSERTS.search(line)
        if inserted:
            add(os.path.normpath(inserted.group(1)))
    for folder in site:
        for line in lines[folder] if add(folder) else ():
            if not line.startswith(("#", *_RUN)):
                add(os.path.normpath(os.path.join(folder, line)))
    return found


def _pth_lines(files: Files, folder: str) -> List[str]:
    """The lines of a folder's .pth files."""
    found: List[str] = []
    names = files.names(folder, is_package_name) or []
    for name in files.first([n for n in names if n.endswith(".pth")], _MAX_PTH, "pth-files", folder):
        lines = (files.text(folder + "/" + name, 65536) or "").splitlines()
        for line in files.first(lines, 256, "pth-lines", folder + "/" + name):
            if line.strip() and "\0" not in line:
                found.append(line.strip())
    return found


def is_package_name(name: str) -> bool:
    """Names of a site-packages folder worth emitting: metadata folders, .pth files and torch itself."""
    return name.endswith(_DIST) or name.endswith(".pth") or name == "torch"


def _torch(files: Files, line: Mapping[str, Any]) -> Optional[str]:
    """The version of the torch that an import in this environment would take: by version.py, else by metadata."""
    for folder in line["site_packages"]:
        text = files.peek(folder + "/torch/version.py", 16384)
        match = re.search(r"^__version__\s*=\s*[\"']([^\"']+)", text or "", re.M)
        if match:
            return match.group(1)
        if text is not None or files.kind(folder + "/torch/__init__.py"):
            return "?"
    return None


def _others(
    files: Files, env: Mapping[str, str], options: Mapping[str, Any], patient: Optional[Dict[str, Any]]
) -> None:
    """Emit `python` lines with role `other` for well-known places that hold torch."""
    done = {files.resolved(patient["prefix"])} if patient else set()
    prefixes = [str(options["own_prefix"])] if options.get("own_prefix") else []
    for pattern in _OTHER_GLOBS:
        base = pattern.replace("~", env.get("HOME") or "/root", 1) if pattern.startswith("~") else pattern
        if base.startswith("./"):
            if not options.get("cwd"):
                continue
            base = str(options["cwd"]) + base[1:]
        if base.endswith("/*"):
            try:
                names = files.first(sorted(files.listed(base[:-2])), 64, "environments", base[:-2])
            except OSError:
                continue
            prefixes += [base[:-1] + name for name in names]
        else:
            prefixes.append(base)
    for prefix in files.first(prefixes, _MAX_OTHERS, "environments"):
        if not _maybe_python(files, prefix):
            continue
        real = files.resolved(prefix)
        if real in done:
            continue
        done.add(real)
        quiet = files.silent()
        line = _environment(quiet, prefix, "", {})
        line["torch"] = _torch(quiet, line)
        if line["torch"]:
            line.update(role="other")
            files.emit(_cleaned(line))


def _maybe_python(files: Files, prefix: str) -> bool:
    return any(files.kind(prefix + sign) for sign in ("/pyvenv.cfg", "/bin/python3", "/conda-meta"))


def _cleaned(line: Dict[str, Any]) -> Dict[str, Any]:
    result = {key: clean(value) if isinstance(value, str) else value for key, value in line.items()}
    result["site_packages"] = [clean(folder) for folder in line["site_packages"]]
    return result
