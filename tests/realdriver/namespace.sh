#!/bin/sh
# Run a command with a /dev of its own, because as root NVIDIA's libraries create device nodes:
#   unshare --mount --propagation private sh namespace.sh EMPTY_DIR [--pci DIR] COMMAND...
# --pci DIR: DIR stands in for the list of PCI devices (a recorded GPU).
set -eu
dev=$1; shift
mount -t tmpfs -o mode=0755 none "$dev"
for node in null zero full random urandom; do
  : >"$dev/$node"
  mount --bind "/dev/$node" "$dev/$node"
done
mkdir "$dev/shm"
ln -s /proc/self/fd "$dev/fd"
mount --move "$dev" /dev
if [ "$1" = --pci ]; then
  mount --bind "$2" /sys/bus/pci/devices
  shift 2
fi
exec "$@"
