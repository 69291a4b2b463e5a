"""Disks, partitions and mounts: the part of the filesystem pack that is about programs."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


_DISK = frozenset(
    [
        "fdisk",
        "sfdisk",
        "gdisk",
        "sgdisk",
        "cfdisk",
        "parted",
        "mkswap",
        "swapon",
        "swapoff",
        "lvremove",
        "vgremove",
        "pvremove",
        "lvreduce",
        "mdadm",
        "cryptsetup",
        "zpool",
        "zfs",
        "btrfs",
        "diskutil",
        "hdparm",
        "nvme",
        "wipefs",
        "format",
        "diskpart",
        "dmsetup",
        "resize2fs",
        "e2fsck",
        "fsck",
        "tune2fs",
        "xfs_repair",
        "losetup",
        "blkdiscard",
        "pvcreate",
        "vgcreate",
        "lvcreate",
        "newfs",
        "newfs_hfs",
    ]
)


_DISK_QUIET = lazy(
    r"(?:list|status|info|print|show|-l|--list|get|scan|report|--detail|-h|--help|--version|-v|images|apfs list"
    r"|listfilesystems|-I|-i|--show(?:=\S*)?|--summary)\Z"
)


@reads(*_DISK)
def _disks(call: Call) -> None:
    first = [arg for arg in call.args if not arg.startswith("/dev/")]
    if (
        any(_DISK_QUIET.match(arg) for arg in first[:3])
        or not call.args
        or (call.name == "swapon" and call.args == ["-s"])
    ):
        return
    act(call, "destroy", "filesystem.partition", "changes disks, partitions or volumes", decision="deny")


@reads("mkfs", "mke2fs", "mkdosfs", "mkntfs", "mkfs.")
def _make_filesystem(call: Call) -> None:
    if call.args:
        act(call, "destroy", "filesystem.format", "formats a disk and erases what is on it", decision="deny")


@reads("mount", "umount", "fusermount", "mount.cifs", "sshfs")
def _mounts(call: Call) -> None:
    if call.args and not (call.name == "mount" and call.args[0] in ("-l", "-t", "--help")):
        act(call, "system", "filesystem.mount", "changes what is mounted on this machine")


@reads("setcap")
def _capabilities(call: Call) -> None:
    if not options(call.args).has("v"):
        act(call, "permission", "filesystem.setuid", "lets a program run with rights that its user does not have")


@reads("git-annex", "trash-empty")
def _trash(call: Call) -> None:
    if call.name == "trash-empty":
        act(call, "delete", "filesystem.trash", "empties the trash")


@reads("icacls", "cacls", "takeown")
def _windows_rights(call: Call) -> None:
    text = " ".join(call.args).lower()
    if re.search(r"/grant\S*\s.*(?:everyone|users|\*s-1-1-0)", text) or (
        "/t" in text and re.match(r"[a-z]:[\\/]*\s", text)
    ):
        act(call, "permission", "filesystem.world-writable", "lets every user of this machine change files")


@reads("umask")
def _open_to_all(call: Call) -> None:
    if call.args and re.match(r"0+\Z", call.args[-1]):
        act(call, "permission", "filesystem.world-writable", "lets every user of this machine change new files")
