#!/usr/bin/env bash
# benchmarks/fresh_machine.sh [--draw N:SEED]: both of the README's commands on a machine that has nothing else.
#
# A new Debian 12 by debootstrap with python3, python3-venv, gcc and git alone; an unprivileged user of its own; this
# checkout (with what is not committed yet) in a folder whose name has a space and an é. Of this machine come the
# settings of pip, certificates and proxies, and the files that these name. --draw: only some of the tests, see
# `pytest --help`.
# The base is kept under ${XDG_CACHE_HOME:-~/.cache}/gpudoctor. Needs root, debootstrap, and a Debian mirror in apt's sources.
# Exit code: 0; 1 where a command fails; 3 where such a machine cannot be made here.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 3; }
  unshare --mount --propagation private true || exit 3
  # A namespace of mounts: they are gone with this process, whatever happens to it.
  exec unshare --mount --propagation private bash "$0" --inside "$@"
fi
draw=("${@:2}")
case "${draw[*]}" in '' | '--draw '*:*) ;; *) echo "usage: benchmarks/fresh_machine.sh [--draw N:SEED]" >&2; exit 2 ;; esac
source=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm
kept=${XDG_CACHE_HOME:-$HOME/.cache}/gpudoctor
base=$kept/fresh-$suite-$(dpkg --print-architecture).tar
say() { printf '== %s\n' "$*"; }

work=$(mktemp -d)
# A process that is still ending keeps the folder busy: -l takes it from the tree all the same. The status stays.
trap 'umount -R -l "$work/root" 2>/dev/null || true; rm -rf --one-file-system "$work" || true' EXIT
root=$work/root
mkdir -p "$kept" "$root"

if [ ! -s "$base" ]; then
  mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    sed -nE 's/^(URIs:|deb( \[[^]]*\])?)[[:space:]]+([^[:space:]]*\/debian)\/?([[:space:]].*)?$/\3/p' | sed -n 1p)
  [ -n "$mirror" ] || { echo "no Debian mirror in apt's own sources" >&2; exit 3; }
  say "debootstrap $suite"
  debootstrap --variant=minbase --include=python3,python3-venv,gcc,libc6-dev,git "$suite" "$work/base" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 3; }
  tar -C "$work/base" --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' --exclude='./usr/share/doc/*' \
    --exclude='./usr/share/locale/*' --exclude='./usr/share/man/*' --exclude='./dev/*' -cf "$base.part.$$" .
  mv "$base.part.$$" "$base"
  rm -rf "$work/base"
fi
mount -t tmpfs -o mode=755 tmpfs "$root" 2>/dev/null || mount --bind "$root" "$root" || exit 3
tar -C "$root" -xf "$base"
if ! { mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys"; }; then exit 3; fi
cp --remove-destination -L /etc/resolv.conf /etc/hosts "$root/etc/"

# What pip is told here, as one file there, and each file or folder that a setting or a variable names, in its place.
python3 - "$root" >"$work/bound" <<'PY'
import ast, os, re, subprocess, sys
told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
sections, named = {}, []
for key, value in re.findall(r"^([^=\s]+)=('.*')$", told, re.M):
    text = ast.literal_eval(value)
    section, _, name = key.rpartition(".")
    if name != "config-file":
        words = [word.removeprefix("file://") for word in text.split()]
        named += [os.path.dirname(word) if name.endswith("index-url") else word for word in words]
    if section != ":env:":
        sections.setdefault(section, {})[name] = text.replace("\n", "\n    ")
with open(sys.argv[1] + "/etc/pip.conf", "w") as file:
    for section, settings in sections.items():
        print(f"[{section}]", *(f"{name} = {text}" for name, text in settings.items()), sep="\n", file=file)
passed = re.compile("PIP_(?!CONFIG_FILE)|.*_(proxy|PROXY)$|SSL_CERT_|REQUESTS_CA_BUNDLE$|CURL_CA_BUNDLE$")
with open(sys.argv[1] + "/variables", "wb") as file:
    for name, value in os.environ.items():
        if passed.match(name):
            named += value.split()
            file.write(f"{name}={value}\0".encode())
for path in named:
    if path.startswith("/") and path != "/" and os.path.exists(path):
        print(path)
PY
sort -u "$work/bound" | while IFS= read -r path; do
  if [ -d "$path" ]; then mkdir -p "$root$path"; else mkdir -p "$root$(dirname "$path")" && touch "$root$path"; fi
  mount --rbind "$path" "$root$path"
done

chroot "$root" useradd --create-home --shell /bin/bash somebody
folder="/home/somebody/gpu doctor é"
place=$root$folder
git clone -q "$source" "$place"
(cd "$source" && git ls-files -z --cached --others --exclude-standard |
  tar -c --null --ignore-failed-read --files-from=- 2>/dev/null | tar -x -C "$place")
chroot "$root" chown -R somebody "$folder"

mapfile -d '' variables <"$root/variables"
# as_somebody LINE: in the checkout, with nothing of this machine's environment.
as_somebody() {
  chroot --userspec=somebody "$root" env -i "${variables[@]}" HOME=/home/somebody PATH=/usr/local/bin:/usr/bin:/bin \
    bash -c "cd '$folder' && $1"
}
# The README's line after a mark.
line() { sed -n "/<!-- run: $1 -->/,/^\`\`\`\$/p" "$source/README.md" | sed '1,2d;$d'; }

failed=0
say "$(line install)"
begun=$SECONDS
code=0
as_somebody "$(line install)" | tee "$work/report" || code=$?
# Without a GPU it says so, and exits with 1; the report itself names its exit code.
grep -q "exit $code" "$work/report" || { echo "the command does not end with a report of exit code $code"; failed=1; }
say "install and check: $((SECONDS - begun)) s, exit code $code"
chroot "$root" rm -rf "$folder/.venv"
say "$(line test) ${draw[*]}"
begun=$SECONDS
as_somebody "$(line test) ${draw[*]}" || failed=1
say "tests: $((SECONDS - begun)) s"
exit "$failed"
