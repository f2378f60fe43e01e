#!/bin/sh
# Boots the systemd of this machine in name spaces of its own, on a copy of the root folder that is written nowhere.
# To be started by: unshare --pid --fork --kill-child --mount --cgroup --uts --ipc boot.sh FOLDER [ROOT]
# FOLDER holds what is to be in the copy besides: program, unit, configuration. ROOT is another root folder, and the systemd is its own.
set -eu
seed=$(realpath "$1") lower=$(realpath "${2:-/}")

mount --make-rprivate /
copy=$(mktemp -d)
mount -t tmpfs tmpfs "$copy"
mkdir "$copy/upper" "$copy/work" "$copy/root"
mount -t overlay -o "lowerdir=$lower,upperdir=$copy/upper,workdir=$copy/work" overlay "$copy/root"
cp -r "$seed/." "$copy/root/"

cd "$copy/root"
mount -t proc proc proc
# Nothing of the kernel's settings may change.
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
if [ "$lower" = / ]; then
    # Devices of its own, but for the pseudo terminals, which may be boards.
    mount --bind /dev/pts dev/pts
    touch dev/ptmx
    mount --bind /dev/ptmx dev/ptmx
else
    # Its boards are simulated within.
    mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
    ln -s pts/ptmx dev/ptmx
fi

mkdir -p old
pivot_root . old
# systemd hands credentials to services by mounts that spread; outside they do not.
mount --make-rshared /
exec chroot . /usr/bin/env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --unit=basic.target --show-status=false
