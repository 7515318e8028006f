"""Which Python is the patient, read from files: no interpreter is started, shims are resolved from what they read.

Order: --python, VIRTUAL_ENV, CONDA_PREFIX, gpudoctor's own environment where torch is in it, python3 or python on PATH.
Sources: PEP 405 (pyvenv.cfg); CPython Modules/getpath.py; the READMEs of pyenv (choosing a version), asdf and mise.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .files import Files
from .path_words import clean

IMAGE_PATH = "/opt/conda/bin:/opt/venv/bin:/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Searched where PATH is not known (a root folder)."""
_NAMES = ("python3", "python")
STARTS = """print('{"starts": true}')"""
"""For `python -S -c`: all that it is started for. Any Python from 2.7 on can say it."""


class Choice:
    """`prefix` or `executable` (either may be empty) of the patient, `rule` (which step of the order) and why."""

    __slots__ = ("because", "executable", "prefix", "rule")

    def __init__(self, rule: str, prefix: str, executable: str, because: str) -> None:
        self.rule, self.prefix, self.executable, self.because = rule, prefix, executable, because


def choose(
    files: Files,
    env: Optional[Mapping[str, str]],
    options: Mapping[str, Any],
    has_torch: Callable[[str], bool],
) -> Optional[Choice]:
    """The patient's Python; None where none can be found. `has_torch(prefix)` looks into an environment's folders."""
    variables = env or {}
    requested = options.get("python")
    if requested:
        return _requested(files, variables, str(requested), options)
    notes = ""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = variables.get(name, "").rstrip("/")
        if prefix:
            if not prefix.startswith("/") or files.kind(prefix) != "dir":
                notes += "%s names %s, which is not a folder; " % (name, prefix)
                continue
            executable = _executable(files, prefix)
            if executable or dead_interpreter(files, prefix) or not _empty(files, prefix):
                return Choice(name, prefix, executable, notes + "%s is set to %s" % (name, prefix))
            notes += "%s names %s, which holds no Python; " % (name, prefix)
    own = options.get("own_prefix")
    if own and has_torch(str(own)):
        return Choice(
            "own environment",
            str(own),
            str(options.get("own_executable") or ""),
            notes + "torch is installed in gpudoctor's own environment",
        )
    # uvx puts its throw-away environment first on PATH: that one is known to hold no torch, and is nobody's patient
    own_bin = "%s/bin" % own if own and files.kind("%s/pyvenv.cfg" % own) == "file" else ""
    for name in _NAMES:
        found = on_path(files, variables, name, options, own_bin)
        if found:
            executable, shim = found
            words = "%s on PATH" % name if env is not None else "%s in the usual folders of an image" % name
            return Choice("%s on PATH" % name, "", executable, notes + words + shim)
    if own:
        return Choice(
            "own environment",
            str(own),
            str(options.get("own_executable") or ""),
            notes + "no other Python was found, so it is gpudoctor's own",
        )
    return None


def _requested(files: Files, env: Mapping[str, str], requested: str, options: Mapping[str, Any]) -> Optional[Choice]:
    because = "--python %s" % requested
    if "/" not in requested and files.kind(os.path.join(str(options.get("cwd") or "/"), requested)) != "dir":
        found = on_path(files, env, requested, options)
        return Choice("--python", "", found[0], because + found[1]) if found else None
    path = os.path.normpath(os.path.join(str(options.get("cwd") or "/"), os.path.expanduser(requested)))
    kind = files.kind(path)
    if kind == "dir":
        executable = _executable(files, path)
        there = executable or dead_interpreter(files, path) or not _empty(files, path)
        return Choice("--python", path, executable, because) if there else None
    prefix = os.path.dirname(os.path.dirname(path))
    if not kind and files.readlink(path) and dead_interpreter(files, prefix):
        return Choice("--python", prefix, "", because)
    if kind == "file" and _manager(files, path):  # a script: the Python that it would start is meant
        name = os.path.basename(path)
        shim = _behind(files, env, path, name, options) or on_path(files, env, name, options)
        path, because = (shim[0], because + shim[1]) if shim else (path, because)
    return Choice("--python", "", path, because) if kind == "file" else None


def dead_interpreter(files: Files, prefix: str) -> Optional[Tuple[str, str]]:
    """(path, what it leads to) of the interpreter that an environment's folder should have and has not; else None.

    A link whose end is gone (its Python was removed), or nothing at all (an empty second text) where pyvenv.cfg or
    conda's own list of packages says that there was one.
    """
    if _executable(files, prefix):
        return None
    for name in _NAMES:
        path = prefix + "/bin/" + name
        if files.readlink(path):
            return path, files.resolved(path)
    if files.kind(prefix + "/pyvenv.cfg") == "file":
        return prefix + "/bin/python3", ""
    try:
        conda = files.listed(prefix + "/conda-meta")
    except OSError:
        conda = []
    return (prefix + "/bin/python3", "") if any(re.match(r"python-3\.\d", name) for name in conda) else None


def dead(files: Files, choice: Choice, options: Mapping[str, Any]) -> Dict[str, Any]:
    """{dead: {path, target}} of a chosen environment without its interpreter. Nothing where only some files can be seen
    (`whole` False): what is not seen may be there."""
    found = None if choice.executable or not options.get("whole", True) else dead_interpreter(files, choice.prefix)
    return {"dead": {"path": clean(found[0]), "target": clean(found[1])}} if found else {}


def _runs(files: Files, path: str) -> bool:
    """Whether a shell would run it: a file with a right to. Unpacked folders and images may have lost the rights."""
    mode = files.status(path)[0]
    return stat.S_ISREG(mode) and bool(files.root or mode & 0o111)


def _empty(files: Files, prefix: str) -> bool:
    """Whether a folder has no Python's library either: no environment, or one of conda without Python."""
    for lib in ("/lib", "/lib64"):
        try:
            if any(re.match(r"python3\.\d", name) for name in files.listed(prefix + lib)):
                return False
        except OSError:
            continue
    return True


def _executable(files: Files, prefix: str) -> str:
    return next((prefix + "/bin/" + n for n in _NAMES if files.kind(prefix + "/bin/" + n) == "file"), "")


def on_path(
    files: Files, env: Mapping[str, str], name: str, options: Mapping[str, Any], but: str = ""
) -> Optional[Tuple[str, str]]:
    """(path, words about a shim) of the first `name` on PATH outside of the folder `but`, shims resolved, or None."""
    for folder in env.get("PATH", IMAGE_PATH).split(":")[:256]:
        path = folder.rstrip("/") + "/" + name
        if not folder.startswith("/") or folder.rstrip("/") == but or not _runs(files, path):
            continue  # as a shell does, which goes on where it may not execute
        if not _manager(files, path):
            return path, ""
        behind = _behind(files, env, path, name, options)
        if behind:
            return behind
        # "system", or a version that is not installed: the shim would go on along PATH, or fail
    return None


def _behind(
    files: Files, env: Mapping[str, str], shim: str, name: str, options: Mapping[str, Any]
) -> Optional[Tuple[str, str]]:
    """(path, words) of what a shim starts under this name; None where it names no installed version."""
    manager = _manager(files, shim)
    for version, prefix in _RESOLVERS[manager](files, env, shim, options):
        for leaf in (name, *_NAMES):
            if files.kind(prefix + "/bin/" + leaf) == "file":
                return prefix + "/bin/" + leaf, ", a %s shim for %s" % (manager, version)
    return None


def _manager(files: Files, path: str) -> str:
    """pyenv, asdf or mise where `path` is one of their shims."""
    if os.path.basename(os.path.dirname(path)) != "shims":
        return ""
    link = files.readlink(path)
    if os.path.basename(link) == "mise":
        return "mise"
    text = files.peek(path, 2048) or ""
    if text.startswith("#!"):
        return next((m for m in ("pyenv", "asdf", "mise") if m + " exec" in text or m + '" exec' in text), "")
    return ""


def _pyenv(files: Files, env: Mapping[str, str], shim: str, options: Mapping[str, Any]) -> List[Tuple[str, str]]:
    root = os.path.dirname(os.path.dirname(shim))
    wanted = env.get("PYENV_VERSION", "").replace(":", " ").split()
    if not wanted:
        for folder in [*_parents(env.get("PYENV_DIR") or str(options.get("cwd") or "")), ""]:
            text = files.peek((folder + "/.python-version") if folder else root + "/version", 4096)
            if text is not None:
                wanted = [word for line in text.split("\n") for word in line.split("#")[0].split()][:16]
                break
    return _installed(files, root + "/versions", wanted)


def _asdf(files: Files, env: Mapping[str, str], shim: str, options: Mapping[str, Any]) -> List[Tuple[str, str]]:
    root = os.path.dirname(os.path.dirname(shim))
    wanted = (env.get("ASDF_PYTHON_VERSION") or env.get("MISE_PYTHON_VERSION") or "").split()
    folders = [*_parents(str(options.get("cwd") or "")), env.get("HOME", "")]
    for folder in folders if not wanted else []:
        for name, pattern in _TOOL_FILES:
            match = re.search(pattern, files.peek(folder + "/" + name, 16384) or "", re.M)
            if match:
                wanted = match.group(1).split()
                break
        if wanted:
            break
    return _installed(files, root + "/installs/python", wanted)


_TOOL_FILES = (
    (".tool-versions", r"^python[ \t]+([^#\n]+)"),
    ("mise.toml", r"^[ \t]*python[ \t]*=[ \t]*[\"']([^\"'\n]+)"),
    (".config/mise/config.toml", r"^[ \t]*python[ \t]*=[ \t]*[\"']([^\"'\n]+)"),
    (".python-version", r"^([0-9][^#\n]*)"),
)
_RESOLVERS = {"pyenv": _pyenv, "asdf": _asdf, "mise": _asdf}


def _parents(folder: str) -> List[str]:
    """The folder and all above it, without the root folder itself."""
    found: List[str] = []
    while folder.startswith("/") and folder != "/" and len(found) < 64:
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _installed(files: Files, base: str, wanted: List[str]) -> List[Tuple[str, str]]:
    """(version, folder) of those wanted versions that are installed; `3.11` takes the newest 3.11.x."""
    found = []
    for version in wanted:
        if version == "system" or "/" in version or version.startswith("."):
            continue
        if files.kind(base + "/" + version) == "dir":
            found.append((version, base + "/" + version))
            continue
        names = [n for n in files.names(base) or [] if re.match(re.escape(version) + r"\.\d+$", n)]
        if names:
            newest = max(names, key=lambda n: [int(part) for part in re.findall(r"\d+", n)])
            found.append((newest, base + "/" + newest))
    return found
