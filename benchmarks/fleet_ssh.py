"""What `fleet run --on ssh` costs on the machine that asks: processor seconds and memory.

    python benchmarks/fleet_ssh.py [--nodes 200]

One real sshd on loopback (as root) has many names; each answers with the recording of an H100, so that the nodes' own
work counts for little. Neither that nor the ssh clients are in the figures. The first is the collector alone: it asks,
reads and checks the answers. The second is the whole command, which parses, masks, judges and stores them too.
The goal for the collector with 200 nodes: 4 CPU s, 64 MiB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fleet.canned import H100, recorded
from tests.fleet.ssh_nodes import ssh_nodes

COST = """
import resource, sys
own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
own_s, ssh_s = [used.ru_utime + used.ru_stime for used in (own, children)]
print(f"{own_s:.1f} CPU s, {own.ru_maxrss / 1024:.0f} MiB (ssh clients: {ssh_s:.1f} CPU s), {done}")
"""
ALONE = (
    """
import sys
from doctor.commands.fleet_run import probe
from doctor.fleet.collect import collect
from doctor.fleet.engines import ssh
from doctor.fleet.gather import Limits, Wish
class Take:
    bytes = answers = 0
    def answer(self, node, data, received):
        self.answers, self.bytes = self.answers + 1, self.bytes + len(data)
        return ""
    def failed(self, node, reason): print(node, reason)
    def store(self): pass
    def say(self, words): pass
take = Take()
collect(ssh, ssh.nodes(Wish(sys.argv[1])), probe(120.0), Limits(120.0, None, 1), take)
done = f"{take.answers} answers of {take.bytes / take.answers / 1000:.0f} kB"
"""
    + COST
)
WHOLE = (
    """
import sys
from doctor.cli import run
done = f"exit {run(['fleet', 'run', '--on', 'ssh', '--nodes', sys.argv[1], '-o', sys.argv[2], '--quiet'])}"
"""
    + COST
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200)
    count = parser.parse_args().nodes
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as made, ssh_nodes(Path(made) / "ssh", count) as nodes:
        nodes.canned(recorded(H100, time.time()))
        for what, script in (("collector alone", ALONE), ("whole command", WHOLE)):
            words = [sys.executable, "-c", script, f"n[001-{count:03d}]", f"{made}/now.db"]
            done = subprocess.run(words, env=nodes.env, cwd=root, check=True, capture_output=True, text=True)
            print(f"{count} nodes, {what}: {done.stdout.splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
