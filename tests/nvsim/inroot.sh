#!/bin/bash
# inroot.sh DIR LIBRARY COMMAND... - run a program (as root) where /dev, /proc and /sys are those of the simulated node in DIR
#
# For programs that take no other root, such as NVIDIA's mig-parted. LIBRARY is libnvidia-ml.so.1 of a build. /tmp and the folders of the
# machine's programs are there too; the machine's own /dev, /proc and /sys are not. Nothing is mounted outside the program's own namespace.
set -u
dir=$(realpath "${1:?inroot.sh DIR LIBRARY COMMAND...}") || exit 1
library=$(realpath "${2:?inroot.sh DIR LIBRARY COMMAND...}") || exit 1
shift 2
export NVSIM_STATE=$dir/state LD_LIBRARY_PATH=${library%/*}
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --mount bash -c '
dir=$0
root=$(mktemp -d) || exit 1
mount -t tmpfs none "$root" || exit 1
mkdir "$root"/{usr,etc,tmp,sys,proc,dev,run,root}
for name in bin lib lib64 sbin; do ln -s "usr/$name" "$root/$name"; done
for name in usr etc tmp; do mount --bind "/$name" "$root/$name"; done
mount --bind "$dir/root/proc" "$root/proc"
cp -a "$dir/root/sys/." "$root/sys"
cp -a "$dir/root/dev/." "$root/dev"
touch "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
cd /
chroot "$root" "$@"
code=$?
umount -R "$root"
rmdir "$root"
exit $code' "$dir" "$@"
