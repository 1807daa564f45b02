#!/bin/bash
# inpod.sh POD PROGRAM ARGUMENT... - run a program as the container of a pod does (as root): of the machine it has /usr, /etc, /proc, /dev,
# of the folder POD its own files (POD/serviceaccount is its account's token, CA and namespace, POD/config the volume at /config), nothing
# can be written but /dev, and it has the rights of 65532. Nothing is mounted outside the program's own namespace.
set -u
pod=$(realpath "${1:?inpod.sh POD PROGRAM ARGUMENT...}") || exit 1
program=$(realpath "${2:?inpod.sh POD PROGRAM ARGUMENT...}") || exit 1
shift 2
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --mount bash -c '
pod=$0 program=$1
shift
root=$pod/root
mkdir -p "$root"
mount -t tmpfs -o mode=755 none "$root" || exit 1
mkdir -p "$root"/{usr,etc,proc,dev,config} "$root/run/secrets/kubernetes.io" "$root/var"
for name in bin lib lib64 sbin; do ln -s "usr/$name" "$root/$name"; done
ln -s ../run "$root/var/run"
for name in usr etc proc dev; do mount --rbind "/$name" "$root/$name"; done
cp -r "$pod/serviceaccount" "$root/run/secrets/kubernetes.io/"
[ ! -d "$pod/config" ] || cp "$pod"/config/* "$root/config/"
cp "$program" "$root/capstan"
chmod -R a+rX "$root/run" "$root/config"
mount -o remount,ro "$root" || exit 1
cd /
exec chroot --userspec=65532:65532 --groups= "$root" /capstan "$@"' "$pod" "$program" "$@"
