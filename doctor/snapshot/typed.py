"""Commands as they can still be typed where names are masked: `~` for the home folder, `"${VIRTUAL_ENV:?}"` for its
value, `"$(nvidia-smi ...)"` for a UUID.

No command holds a mask, for it could not be run: what the shell of its reader knows is left to that shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from ..formats.lazy import lazy
from .fact import known
from .gpu import Gpu, MigInstance

_WORD = r"^|[\s;&|(]|(?:^|[\s;])[A-Za-z_]\w*="
_HOME = lazy(r"(/(?:home|Users)/[^/\s]+)/")
_SHORTEST = 5
"""Characters of a value that is left to its variable."""
_UUID = r"(?:MIG-GPU|MIG|GPU)-[0-9a-fA-F][0-9a-fA-F-]{2,35}(?:/\d+/\d+)?"
_UUIDS = lazy(rf"(?<![\w'\"-])(\"?)({_UUID}(?:,(?:{_UUID}|\d+))*)\1(?![\w'\"-])")
_ON_PATH = lazy(r"(?:^|; )(\w[\w.]*) on PATH")
"""How the patient was chosen, where the shell finds the same by its name."""
_PYTHON = "--python "
_QUERY = "nvidia-smi --query-gpu=uuid --format=csv,noheader -i"
_PASTE = " | paste -sd, -"
_PASTED = lazy(rf'"\$\({_QUERY} ([\d,]+){re.escape(_PASTE)}\)"')


def quoted(path: str) -> str:
    """A path as it is typed in a shell; a leading `~/` stays outside the quotes, since it means the home only there."""
    return "~/" + shlex.quote(path[2:]) if path.startswith("~/") and len(path) > 2 else shlex.quote(path)


def named_python(s: Any) -> str:
    """` --python /opt/env`, as this run (a Snapshot) was given it, for a command that examines the same; else empty."""
    because = known(s.python.chosen_because) or ""
    return f" {_PYTHON}{quoted(because[len(_PYTHON) :])}" if because.startswith(_PYTHON) else ""


def uuids_of(gpus: Sequence[Gpu]) -> str:
    """What names these GPUs in CUDA_VISIBLE_DEVICES; those whose UUIDs are not known are found by their indices."""
    uuids = [known(gpu.uuid) or "" for gpu in gpus]
    return ",".join(uuids) if all(uuids) else gpu_uuids([str(known(gpu.index)) for gpu in gpus])


def uuid_of(instance: MigInstance, number: int) -> str:
    """What names a MIG instance, the one with this number in the list of `nvidia-smi -L`."""
    return known(instance.uuid) or instance_uuid(number)


def gpu_uuids(numbers: list[str]) -> str:
    """The UUIDs of GPUs by their indices or PCI addresses, with commas between them: found when the command runs.

    nvidia-smi answers in the order of the indices, whatever the order of `-i` is.
    """
    if len(numbers) > 1 and (not all(map(str.isdecimal, numbers)) or numbers != sorted(numbers, key=int)):
        return ",".join(gpu_uuids([number]) for number in numbers)
    return f'"$({_QUERY} {",".join(numbers)}{_PASTE if len(numbers) > 1 else ""})"'


def uuids_in_powershell(numbers: list[str]) -> str:
    """The same for PowerShell, which knows no paste and makes a list of two quoted words with a comma between them."""
    return f'"{",".join(f"$({_QUERY} {number})" for number in numbers)}"'


def without_paste(command: str) -> str:
    """A command for PowerShell with what `gpu_uuids` wrote into it."""
    return _PASTED.sub(lambda found: uuids_in_powershell(found[1].split(",")), command)


def instance_uuid(number: int | str) -> str:
    """The UUID of the MIG instance with this number, from 1, in the list of `nvidia-smi -L`."""
    return f"\"$(nvidia-smi -L | grep -o 'MIG-[^)]*' | sed -n {number}p)\""


class Typed:
    """What the shell of a report's reader knows. `home`: the user's home folder, or empty."""

    def __init__(self, home: str) -> None:
        self._homes: dict[str, tuple[re.Pattern[str], ...]] = {}
        self._variables: dict[str, str] = {}
        self._python: tuple[str, str] = ("", "")
        self._windows = False
        self._gpus: dict[str, str] = {}
        self._instances: list[str] = []
        self.home(home)

    def know(self, s: Any) -> None:
        """Know what the shell of who repairs this machine (a Snapshot) knows: home, GPUs, the Python on PATH.

        A home that was recorded is the only `~`: root's is another than that of the environment's owner. Without one,
        who owns the environment is taken for who repairs it.
        """
        patient = s.python.patient
        self._windows = known(s.host.system) == "windows"
        home = next((disk.path for disk in known(s.host.disks) or () if disk.role == "home"), "")
        if home:
            self._homes = {path: patterns for path, patterns in self._homes.items() if path == home}
        self.home(home_of(f"{home}/" if home else known(patient.prefix) or ""))
        found = _ON_PATH.search(known(s.python.chosen_because) or "")
        if found and (path := known(patient.executable)):
            self._python = shlex.quote(path), found[1]
        for gpu in known(s.gpus) or ():
            index, address = known(gpu.index), known(gpu.pci_address)
            if (uuid := known(gpu.uuid)) and (index is not None or address):
                self._gpus[uuid] = str(address if index is None else index)
            self._instances += [known(instance.uuid) or "" for instance in known(gpu.mig_instances) or ()]

    def home(self, home: str) -> None:
        """Know a folder as the home of who types."""
        home = home.rstrip("/")
        if home in ("", "/root") or home in self._homes:
            return
        here = re.escape(home)
        self._homes[home] = (
            lazy(rf"({_WORD}){here}(?=[/:]|\s|$)"),
            lazy(rf"({_WORD})'{here}/"),
            lazy(rf"((?:^|[\s;])[A-Za-z_]\w*=[^\s'\"]*:){here}(?=[/:]|\s|$)"),
        )

    def learn(self, name: str, value: str) -> None:
        """Know a variable of the user's environment; those that hold a path or an address are of use."""
        if name.isidentifier() and name.isupper() and len(value) >= _SHORTEST and "/" in value and value != "/root":
            self._variables.setdefault(value.rstrip("/"), name)

    def with_home(self, text: str) -> str:
        """The user's home folder as `~`: it says nothing, and can still be typed."""
        for home, (plain, quoted, later) in self._homes.items():
            if home not in text:
                continue
            text = quoted.sub(r"\1~/'", plain.sub(r"\1~", text))  # a shell knows `~` only outside of quotes
            done = ""
            while done != text:  # folder after folder of a list such as LD_LIBRARY_PATH
                done, text = text, later.sub(r"\1~", text)
        return text

    def with_variables(self, command: str) -> str:
        """The values of variables as their names, longest first; then the Python that PATH leads to."""
        for value, name in sorted(self._variables.items(), key=lambda item: -len(item[0])):
            if value not in command:
                continue
            typed = f'"${{{name}:?}}"'  # where it is not set the shell says so and runs nothing
            command = re.sub(rf"({_WORD}){re.escape(value)}(?=[/\s]|$)", rf"\1{typed}", command)
            command = re.sub(rf"({_WORD})'{re.escape(value)}/", rf"\1{typed}'/", command)
            command = re.sub(rf"({_WORD})'{re.escape(value)}'(?=\s|$)", rf"\1{typed}", command)
        path, name = self._python
        return re.sub(rf"({_WORD}){re.escape(path)}(?=\s|$)", rf"\1{name}", command) if path in command else command

    def with_uuids(self, command: str) -> str:
        """The UUIDs of GPUs and MIG instances as questions to nvidia-smi."""
        if "GPU-" not in command and "MIG-" not in command:
            return command

        def words(found: re.Match[str]) -> str:
            if command.count("'", 0, found.start()) % 2:  # inside of quotes a shell runs nothing
                return found[0]
            entries = found[2].split(",")
            numbers = [self._number(entry) for entry in entries]
            if len(entries) > 1 and all(numbers):
                return uuids_in_powershell(numbers) if self._windows else gpu_uuids(numbers)
            return ",".join(self._one(entry) for entry in entries)

        return _UUIDS.sub(words, command)

    def _number(self, entry: str) -> str:
        """The index of the GPU whose UUID begins like this; '' if there is none."""
        if entry.startswith("MIG-"):
            return ""
        return next((number for uuid, number in self._gpus.items() if uuid.startswith(entry)), "")

    def _one(self, entry: str) -> str:
        if number := self._number(entry):
            return gpu_uuids([number])
        at = next((at for at, uuid in enumerate(self._instances, 1) if uuid and uuid.startswith(entry)), 0)
        return instance_uuid(at) if at else entry


def home_of(prefix: str) -> str:
    """The home folder that an environment lies in, or empty: who repairs it types `~`."""
    found = _HOME.match(prefix)
    return found[1] if found else ""
