#!/usr/bin/env bash
# Build the Dockerfile for real, without a docker daemon: a Debian base by debootstrap, buildah with chroot isolation.
#   tests/docker/build.sh [WORK_DIR [ARCHIVE]]        (root; buildah, debootstrap, python3 with venv and pip)
# Then `check --expect none` and `healthcheck --expect none` run inside the image, and its HEALTHCHECK is read back.
# The base is kept as a tarball under ${XDG_CACHE_HOME:-~/.cache}/gpudoctor; the images are removed at the end. With ARCHIVE
# the image is only built, and written there for `docker load` as gpudoctor:1.
set -euo pipefail

suite=bookworm python=3.11
source=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpudoctor
work=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/gpudoctor-image.XXXXXX")
mkdir -p "$cache"
say() { printf '== %s\n' "$*" >&2; }

build() { buildah --root "$work/images" --runroot "$work/run" --storage-driver vfs "$@"; }
clean() {
  build rm --all >/dev/null 2>&1 || true
  build rmi --all --force >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT

# The first Debian mirror that this machine's own apt uses.
mirror() {
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    sed -nE 's/^(URIs:|deb( \[[^]]*\])?)[[:space:]]+([^[:space:]]*\/debian)\/?([[:space:]].*)?$/\3/p' | sed -n 1p
}

base=$cache/debian-$suite-$(dpkg --print-architecture).tar
if [ ! -s "$base" ]; then
  from=$(mirror)
  [ -n "$from" ] || { say "no Debian mirror in apt's own sources"; exit 3; }
  say "debootstrap $suite"
  debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$work/base" "$from" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 3; }
  tar -C "$work/base" --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' --exclude='./usr/share/doc/*' \
    --exclude='./usr/share/locale/*' --exclude='./usr/share/man/*' --exclude='./dev/*' -cf "$base.part.$$" .
  mv "$base.part.$$" "$base"
  rm -rf "$work/base"
fi

say "build context with wheels for Python $python"
mkdir "$work/context"
# What .dockerignore lets through, as `docker build` takes it from the checkout.
(cd "$source" && sed -n 's/^!//p' .dockerignore | grep -vx wheels | xargs cp -r --parents -t "$work/context" Dockerfile .dockerignore)
python3 -m venv "$work/venv"
pip=("$work/venv/bin/pip" -qq --disable-pip-version-check)
"${pip[@]}" wheel --no-deps --wheel-dir "$work/own" "$work/context"
machine=$(uname -m)
"${pip[@]}" download --only-binary=:all: --python-version "$python" --implementation cp --abi "cp${python/./}" --abi abi3 \
  --abi none --platform "manylinux_2_28_$machine" --platform "manylinux_2_17_$machine" \
  --platform "manylinux2014_$machine" --platform any --dest "$work/context/wheels" "$work"/own/*.whl hatchling
rm "$work"/context/wheels/gpudoctor-*.whl # the image builds its own from the source tree

say "base image"
container=$(build from scratch)
build add --quiet "$container" "$base" / >/dev/null
build commit --quiet "$container" localhost/base >/dev/null
build rm "$container" >/dev/null

say "Dockerfile"
build --log-level error bud --quiet --isolation chroot --format docker --build-arg BASE=localhost/base --build-arg PIP_NO_INDEX=1 \
  --build-arg PIP_FIND_LINKS=/src/wheels --tag localhost/gpudoctor "$work/context" >/dev/null

if [ -n "${2:-}" ]; then
  build push --quiet localhost/gpudoctor "docker-archive:$2:gpudoctor:1" >/dev/null
  exit 0
fi

say "HEALTHCHECK"
build inspect --type image localhost/gpudoctor |
  python3 -c 'import json, sys; c = json.load(sys.stdin)["Docker"]["config"]; print(c["Healthcheck"]["Test"], c["User"])'

container=$(build from --pull-never localhost/gpudoctor)
inside() { build run --isolation chroot "$container" -- "$@"; }
say "gpudoctor --version";                      inside gpudoctor --version
say "gpudoctor check --expect none";            inside gpudoctor check --expect none --ascii --no-color
say "gpudoctor healthcheck --expect none";      inside gpudoctor healthcheck --expect none
say "the image is sound"
