"""How far `prove --links` agrees with what the kernel counts: two namespaces joined by a link of a known rate.

    python benchmarks/links.py --python ENVIRONMENT [--mbit 400] [--seconds 60]

Needs root, iproute2 and a torch in ENVIRONMENT. One line a collective and size: bus bandwidth, what the interface of
the first node sent for it, and the one over the other. Ring all-reduce over two nodes sends the data once each way.
Below 128 KiB headers and the barriers between runs count. Reduce-scatter sends twice its bus bandwidth, because gloo
makes it of an all-reduce; in a reduce the first node is the root, which mostly receives.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.proof.namespaces import ADDRESSES, joined


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--python", required=True)
    parser.add_argument("--mbit", type=int, default=400)
    parser.add_argument("--seconds", type=int, default=60)
    flags = parser.parse_args()
    words = ["-m", "doctor", "prove", "--links", "--teach", "--ddp", "--device", "cpu", "--nproc", "1"]
    words += ["--nodes", ",".join(ADDRESSES), "--timeout", str(flags.seconds), "--python", flags.python]
    with joined(flags.mbit) as nodes:
        argv = [["ip", "netns", "exec", name, sys.executable, *words, "--format", "json"] for name in nodes]
        second = subprocess.Popen(argv[1], stdout=subprocess.DEVNULL)
        done = subprocess.run(argv[0], stdout=subprocess.PIPE, check=False)
        second.wait()
    measured = json.loads(done.stdout)["snapshot"]["measured"]
    limit = flags.mbit / 8e3
    print(f"link: {limit:.3f} GB/s each way")
    print("| collective | bytes | ms | bus GB/s | of the link | sent GB/s | sent over bus |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for r in measured["collective_rates"]:
        sent = r["sent_bytes"] / r["us"] / 1e3
        print(
            f"| {r['operation']} | {r['bytes']:,} | {r['us'] / 1e3:.2f} | {r['bus_gb_s']:.4f} "
            f"| {100 * r['bus_gb_s'] / limit:.0f} % | {sent:.4f} | {sent / r['bus_gb_s']:.3f} |"
        )
    for way in measured.get("ways", ()):
        counted = way["counted_bytes"] / way["bytes"]
        print(f"{way['name']}: {way['us'] / 1e3:.1f} ms, the first node sent {counted:.3f} times the data")
    for run in measured.get("ddp", ()):
        print(f"DDP: {run['steps']} steps in {run['seconds']} s, {run['alone_seconds']} s without sums of gradients")


if __name__ == "__main__":
    main()
