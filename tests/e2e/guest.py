"""A virtual machine of an AArch64 processor (qemu-system) with Debian's kernel, for tests that need a kernel, which qemu-user
is not. Its root is a folder of this machine, which it sees by 9p."""
import pathlib
import shutil
import subprocess
import unittest

# In the order in which they need each other.
MODULES = """drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci fs/netfs/netfs
    fs/fscache/fscache net/9p/9pnet net/9p/9pnet_virtio fs/9p/9p""".split()
SHARE = "-t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=262144"
# The first program of the machine: it needs nothing but what is beside it.
INIT = f"""#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
for module in {" ".join(pathlib.Path(module).name for module in MODULES)}; do $b insmod /modules/$module.ko; done
$b mount {SHARE} root /newroot
for folder in proc sys dev; do $b mount --move /$folder /newroot/$folder; done
$b mkdir -p /newroot/dev/shm /newroot/dev/pts
for folder in dev/shm tmp run; do $b mount -t tmpfs none /newroot/$folder; done
$b mount -t devpts pts /newroot/dev/pts
$b ip link set lo up
exec $b switch_root /newroot /bin/sh /guest.sh
"""
GUEST = """export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8
date -s "$(cat /guest-date)" > /dev/null
sh /guest-script.sh > /guest-output 2>&1
echo "status $?" >> /guest-output
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


class Guest:
    """`root`: of a Debian for AArch64. `packages`: a folder where its packages linux-image-… and busybox-static are unpacked."""

    def __init__(self, root, packages, folder):
        for program in ("qemu-system-aarch64", "cpio"):
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"NOT TESTED: {program} is not installed")
        self.root, self.folder = root, pathlib.Path(folder)
        [self.kernel] = packages.glob("boot/vmlinuz-*")
        [modules] = packages.glob("lib/modules/*/kernel")
        first = self.folder / "first"
        for name in ("bin", "proc", "sys", "dev", "newroot", "modules"):
            (first / name).mkdir(parents=True)
        shutil.copy(packages / "bin/busybox", first / "bin")
        for module in MODULES:
            shutil.copy(modules / f"{module}.ko", first / "modules")
        (first / "init").write_text(INIT)
        (first / "init").chmod(0o755)
        with open(self.folder / "first.cpio", "wb") as archive:
            names = subprocess.run(["find", "."], cwd=first, check=True, stdout=subprocess.PIPE).stdout
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=first, input=names, stdout=archive, check=True)
        (root / "guest.sh").write_text(GUEST)

    def run(self, script, timeout):
        """What the shell's script prints, as root in the machine. Raises AssertionError if it fails."""
        output = self.root / "guest-output"
        output.unlink(missing_ok=True)
        (self.root / "guest-script.sh").write_text(script)
        date = subprocess.run(["date", "-u", "+%Y-%m-%d %H:%M:%S"], stdout=subprocess.PIPE, check=True).stdout
        (self.root / "guest-date").write_bytes(date)
        shared = f"local,id=root,path={self.root},security_model=passthrough"
        console = subprocess.run(
            ["qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", "3G", "-nic", "none",
             "-nographic", "-no-reboot", "-kernel", self.kernel, "-initrd", self.folder / "first.cpio",
             "-append", "console=ttyAMA0 panic=-1 quiet", "-fsdev", shared, "-device", "virtio-9p-pci,fsdev=root,mount_tag=root"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False).stdout
        text = output.read_text(errors="replace") if output.exists() else ""
        assert text.endswith("status 0\n"), f"{console[-2000:]}\n{text[-100_000:]}"
        return text
