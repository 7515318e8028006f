"""The first thing that a child does: see to its own end, and leave the user's folder.

A child dies with its parent, even inside a call of the driver that never comes back, and after its deadline: both are
the kernel's doing, since a thread or a handler of Python's would wait for the same lock as the call. The parent names
in GPUDOCTOR_LIFELINE the descriptor of a pipe whose other end it alone holds (a death signal would come when the
parent's *thread* ends, see prctl(2)), and in GPUDOCTOR_ALARM_S a number of seconds. Standard library, Python 3.8.

Source: fcntl(2), F_SETOWN and F_SETSIG; pipe(7), O_ASYNC.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Sequence, Tuple

PACKAGE = "gpudoctor_agents"
HERE = os.path.dirname(os.path.abspath(__file__))
_CLEAN = "import sys;sys.path[:]=[p for p in sys.path if p not in('','.')];"
OWN = _CLEAN + "sys.path+=sys.argv[1:2];b=__import__('agent_boot');b.hold();b.agent(*sys.argv[2:4]).main(sys.argv[4:])"
"""For `python -I -S -c`: this file's folder, the agent's folder and name, its arguments."""
TEXT = "import os,sys;n=int(sys.argv.pop(1));TEXT=os.pread(n,os.fstat(n).st_size,0).decode();os.close(n);exec(TEXT)"
"""For `python -c`: the descriptor of a file that holds an agent's one text, its arguments."""
SCRIPT = _CLEAN + (
    "b={'__name__':'agent_boot','__file__':sys.argv[1]};"
    "exec(compile(open(sys.argv[1],'rb').read(),sys.argv[1],'exec'),b);b[sys.argv[2]](sys.argv[3:])"
)
"""For `python -c`: this file, `script`, `module` or `command`, what to run and its arguments."""


def hold() -> None:
    """Tie this process to its parent, set its alarm, and go to the folder that holds nothing to import."""
    pipe, seconds = os.environ.pop("GPUDOCTOR_LIFELINE", ""), os.environ.pop("GPUDOCTOR_ALARM_S", "")
    end_with(int(pipe) if pipe.isdigit() else -1, int(seconds) if seconds.isdigit() else 0)
    try:
        os.chdir(os.path.join(HERE, "empty"))
    except OSError:
        os.chdir("/")


def end_with(pipe: int, seconds: int) -> None:
    """Tie this process to the other end of a pipe (unless -1) and set its alarm (unless 0)."""
    import _signal  # type: ignore[import-not-found]  # without the enums of `signal`

    if pipe >= 0:
        tie(pipe)
    if seconds and hasattr(_signal, "alarm"):
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGALRM])
        _signal.alarm(seconds)


def tie(pipe: int) -> None:
    """SIGKILL to this process and its group when nobody holds the other end of this pipe any more (Linux)."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        kept = fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 20)  # out of the way of whoever counts descriptors
        if pipe > 2:
            os.close(pipe)
        else:
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, pipe)
            os.close(nothing)
        own_group = os.getpgrp() == os.getpid()
        fcntl.fcntl(kept, fcntl.F_SETOWN, -os.getpid() if own_group else os.getpid())
        fcntl.fcntl(kept, fcntl.F_SETSIG, 9)
        fcntl.fcntl(kept, fcntl.F_SETFL, fcntl.fcntl(kept, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    except (AttributeError, OSError):  # another system, or a kernel that is none (gVisor): the alarm is left
        return
    try:
        if not os.read(kept, 1):
            os._exit(1)  # the parent was gone before the signal was set
    except OSError:
        pass


def parts_in(folder: str) -> None:
    """Let the files of a folder, an agent's parts, be imported as those of a package, and not by their bare names."""
    package = type(sys)(PACKAGE)
    package.__path__ = [folder]
    sys.modules[PACKAGE] = package


class Parts:
    """Finds the parts for the patient's own Python, which writes nothing beside them."""

    @staticmethod
    def find_spec(name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        package, _, part = name.rpartition(".")
        if package != PACKAGE:
            return None
        import _frozen_importlib_external as machinery

        class Loader(machinery.SourceFileLoader):
            def set_data(self, *_: "Any", **__: "Any") -> None:
                """No compiled form is written."""

        file = os.path.join(path[0], part + ".py")
        return machinery.spec_from_file_location(name, file, loader=Loader(name, file))


def agent(folder: str, name: str) -> "Any":
    """An agent's file, imported."""
    parts_in(folder)
    __import__(PACKAGE + "." + name)
    return sys.modules[PACKAGE + "." + name]


def again(name: str, own: bool) -> "Tuple[List[str], List[int]]":
    """The command that starts this agent once more, as `agent` (`own`: needs no packages) or `script` did, and the
    descriptors that it must inherit.

    An agent that came as one text is handed on in a file without a name. The command is empty where that cannot be.
    """
    isolated = ["-I", "-S"] if own else []
    text = getattr(sys.modules.get(PACKAGE), "text", None)
    if text is not None:
        number = nameless(text.encode("utf-8")) if sys.executable and hasattr(os, "pread") else -1
        return ([sys.executable, *isolated, "-c", TEXT, str(number)], [number]) if number >= 0 else ([], [])
    file = os.path.join(HERE, name + ".py")
    if not sys.executable or not os.path.isfile(file):
        return [], []
    if own:
        return [sys.executable, *isolated, "-c", OWN, HERE, HERE, name], []
    return [sys.executable, "-c", SCRIPT, os.path.join(HERE, "agent_boot.py"), "script", file], []


def nameless(data: bytes) -> int:
    """An inheritable descriptor of a file that holds this and is gone with the last process that has it open.

    In memory, since a container may have no folder to write to, else in the temporary folder; -1 where neither works.
    """
    try:
        number = os.memfd_create("gpudoctor", 0)
    except (AttributeError, OSError):
        import tempfile

        try:
            with tempfile.TemporaryFile() as file:
                number = os.dup(file.fileno())
        except OSError:
            return -1
        os.set_inheritable(number, True)
    while data:
        data = data[os.write(number, data) :]
    return number


def script(words: "Sequence[str]") -> None:
    """Run a file as the main program, with its arguments, as `python FILE ...` would but from no folder at all."""
    hold()
    main = sys.modules["__main__"]
    sys.argv[:] = words
    main.__file__ = words[0]
    main.__package__ = PACKAGE
    parts_in(os.path.dirname(os.path.abspath(words[0])))
    sys.meta_path.insert(0, Parts())
    with open(words[0], "rb") as stream:
        code = compile(stream.read(), words[0], "exec")
    exec(code, main.__dict__)


def module(words: "Sequence[str]") -> None:
    """Run a module as the main program, with its arguments, as `python -m MODULE ...` would but from no folder at all.

    What it starts inherits the lifeline as its stdin.
    """
    import runpy

    pipe = os.dup(0)
    hold()
    os.dup2(pipe, 0)
    os.close(pipe)
    sys.argv[:] = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def command(words: "List[str]") -> None:
    """Become another program that keeps the tie (a pipe's signal outlives exec, and so does an alarm)."""
    hold()
    os.execvp(words[0], words)
