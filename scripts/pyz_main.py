"""The start of gpudoctor.pyz: unpack once, then run what was unpacked."""

import hashlib
import os
import stat
import sys
import tempfile
import zipfile


def unpacked(archive):
    """The folder with the archive's contents, made where it is not there yet: this user's cache, or below /tmp."""
    with open(archive, "rb") as file:
        name = "gpudoctor-" + hashlib.sha256(file.read()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    below_tmp = os.path.join(tempfile.gettempdir(), "gpudoctor-%d" % os.getuid())
    for base in (os.path.join(cache, "gpudoctor"), below_tmp):
        folder = os.path.join(base, name)
        try:
            os.makedirs(base, mode=0o700, exist_ok=True)
            about = os.lstat(base)
            if about.st_uid != os.getuid() or not stat.S_ISDIR(about.st_mode) or about.st_mode & 0o022:
                continue  # somebody else could have put a program there
            if not os.path.isdir(folder):
                fresh = tempfile.mkdtemp(dir=base)
                with zipfile.ZipFile(archive) as whole:
                    whole.extractall(fresh)
                try:
                    os.rename(fresh, folder)
                except OSError:
                    pass  # another start was faster
            if os.path.isdir(folder):
                return folder
        except OSError:
            continue
    return sys.exit("gpudoctor: nowhere to unpack: neither this user's cache nor /tmp can be written")


if sys.version_info < (3, 10):
    sys.exit("gpudoctor: Python 3.10 or newer is needed, this is %d.%d" % sys.version_info[:2])
sys.path[0] = unpacked(sys.path[0])
from gpudoctor.__main__ import main

main()
