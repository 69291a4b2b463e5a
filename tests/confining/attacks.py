"""What a hook may try in order to get out. A program of its own: prints what came of each attempt, as JSON.

Its one argument is a file with the facts that an attacker would know. `done` is a success of the attacker's.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable


def is_open(descriptor: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_GETFD)
    except OSError:  # that with which we have looked
        return False
    return True


INHERITED = {int(name) for name in os.listdir("/proc/self/fd") if is_open(int(name))} - {0, 1, 2}
import ctypes  # noqa: E402  # only now: newer versions of libffi open a file of their own

with open(sys.argv[1], encoding="utf-8") as file:
    FACTS = json.load(file)
PROJECT, HOME, OUTSIDE = FACTS["project"], FACTS["home"], FACTS["pid"]
LIBC = ctypes.CDLL(None, use_errno=True)
ATTACKS: dict[str, Callable[[], object]] = {}


def attack(function: Callable[[], object]) -> Callable[[], object]:
    ATTACKS[function.__name__.replace("_", " ")] = function
    return function


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def victim(name: str) -> str:
    """A file of the project for each attempt."""
    return os.path.join(PROJECT, "victims", name)


def write(path: str, flags: int = os.O_WRONLY) -> None:
    descriptor = os.open(path, flags, 0o600)
    os.write(descriptor, b"taken over")
    os.close(descriptor)


# --- the project and the home ------------------------------------------------------------------------


@attack
def write_to_a_file_of_the_project() -> None:
    write(victim("write"))


@attack
def append_to_a_file_of_the_project() -> None:
    write(victim("append"), os.O_WRONLY | os.O_APPEND)


@attack
def make_a_file_in_the_project() -> None:
    write(os.path.join(PROJECT, "victims", "new"), os.O_WRONLY | os.O_CREAT)


@attack
def truncate_a_file_of_the_project() -> None:
    os.truncate(victim("truncate"), 0)


@attack
def truncate_while_opening_for_reading() -> None:
    os.close(os.open(victim("open-truncate"), os.O_RDONLY | os.O_TRUNC))
    if os.stat(victim("open-truncate")).st_size:
        raise PermissionError(errno.EPERM, "nothing happened")


@attack
def delete_a_file_of_the_project() -> None:
    os.unlink(victim("delete"))


@attack
def rename_a_file_of_the_project() -> None:
    os.rename(victim("rename"), victim("renamed"))


@attack
def move_a_file_out_of_the_project() -> None:
    os.rename(victim("move"), os.path.join(tempfile.gettempdir(), "moved"))


@attack
def make_a_folder_in_the_project() -> None:
    os.mkdir(os.path.join(PROJECT, "victims", "folder"))


@attack
def make_a_link_in_the_project() -> None:
    os.symlink("/etc/passwd", os.path.join(PROJECT, "victims", "link"))


@attack
def write_through_a_symlink() -> None:
    link = os.path.join(tempfile.gettempdir(), "symlink")
    os.symlink(victim("symlink"), link)
    write(link)


@attack
def write_through_a_hard_link() -> None:
    link = os.path.join(tempfile.gettempdir(), "hardlink")
    os.link(victim("hardlink"), link)
    write(link)


@attack
def write_through_proc_root() -> None:
    write("/proc/self/root" + victim("root"))


@attack
def write_through_the_root_of_process_1() -> None:
    write("/proc/1/root" + victim("root-1"))


@attack
def write_through_the_root_of_the_parent() -> None:
    write(f"/proc/{OUTSIDE}/root" + victim("root-parent"))


@attack
def write_through_proc_cwd() -> None:
    os.chdir(PROJECT)
    write("/proc/self/cwd" + victim("cwd").removeprefix(PROJECT))


@attack
def open_a_reading_descriptor_again_for_writing() -> None:
    descriptor = os.open(victim("reopen"), os.O_RDONLY)
    write(f"/proc/self/fd/{descriptor}")


@attack
def write_into_a_mapping() -> None:
    descriptor = os.open(victim("mapping"), os.O_RDWR)
    with mmap.mmap(descriptor, 4) as mapping:
        mapping[:4] = b"gone"


@attack
def change_a_mode_in_the_project() -> None:
    os.chmod(victim("mode"), 0o777)


@attack
def change_a_mode_by_descriptor() -> None:
    os.fchmod(os.open(victim("fmode"), os.O_RDONLY), 0o777)


@attack
def change_a_time_in_the_project() -> None:
    os.utime(victim("time"), (1, 1))
    if os.stat(victim("time")).st_mtime != 1:
        raise PermissionError(errno.EPERM, "nothing happened")


@attack
def set_an_attribute_in_the_project() -> None:
    os.setxattr(victim("attribute"), "user.taken", b"over")


@attack
def write_to_the_home() -> None:
    write(os.path.join(HOME, ".bashrc"))


@attack
def make_a_file_in_the_home() -> None:
    write(os.path.join(HOME, ".new"), os.O_WRONLY | os.O_CREAT)


@attack
def write_outside_of_everything() -> None:
    write(FACTS["elsewhere"])


@attack
def mount_something_over_the_project() -> None:
    checked(LIBC.mount(b"none", PROJECT.encode(), b"tmpfs", 0, None))
    LIBC.umount2(PROJECT.encode(), 2)


@attack
def mount_again_with_writing() -> None:
    remount, bind = 32, 4096
    if LIBC.mount(None, b"/", None, remount | bind, None) < 0:
        checked(LIBC.mount(None, PROJECT.encode(), None, remount | bind, None))
    write(victim("remount"))


@attack
def mount_in_namespaces_of_its_own() -> None:
    """In a child, which stays in them alone."""
    new_namespaces = 0x10000000 | 0x00020000

    def change() -> None:
        checked(LIBC.unshare(new_namespaces))
        LIBC.umount2(os.path.join(HOME, ".ssh").encode(), 2)
        LIBC.mount(None, b"/", None, 32 | 4096, None)
        write(victim("namespaces"))

    in_a_child(change)


# --- secrets -----------------------------------------------------------------------------------------


def read(path: str) -> None:
    with open(path, "rb") as file:
        if b"secret" not in file.read():
            raise FileNotFoundError(errno.ENOENT, "nothing in it")


@attack
def read_a_key() -> None:
    read(os.path.join(HOME, ".ssh", "id_ed25519"))


@attack
def read_a_file_of_credentials() -> None:
    read(os.path.join(HOME, ".netrc"))


@attack
def read_a_deeper_secret() -> None:
    read(os.path.join(HOME, ".config", "gcloud", "credentials.db"))


@attack
def read_the_state_of_fairlead() -> None:
    read(FACTS["state"])


@attack
def read_a_key_through_the_project() -> None:
    read(os.path.join(PROJECT, "link-to-key"))


@attack
def read_a_key_through_proc_root() -> None:
    read("/proc/self/root" + os.path.join(HOME, ".ssh", "id_ed25519"))


@attack
def read_a_linked_secret() -> None:
    read(FACTS["linked secret"])


@attack
def read_the_environment_of_the_parent() -> None:
    with open(f"/proc/{OUTSIDE}/environ", "rb") as file:
        if not file.read():
            raise FileNotFoundError(errno.ENOENT, "nothing in it")


@attack
def read_a_file_of_somebody_in_tmp() -> None:
    read(FACTS["in tmp"])


# --- other processes ---------------------------------------------------------------------------------


@attack
def send_a_signal_to_the_parent() -> None:
    os.kill(OUTSIDE, signal.SIGCONT)


@attack
def attach_to_the_parent() -> None:
    attach, detach = 16, 17
    checked(LIBC.ptrace(attach, OUTSIDE, None, None))
    os.waitpid(OUTSIDE, 0x40000000)
    LIBC.ptrace(detach, OUTSIDE, None, None)


@attack
def limit_the_parent() -> None:
    resource.prlimit(OUTSIDE, resource.RLIMIT_CORE, resource.prlimit(OUTSIDE, resource.RLIMIT_CORE))


@attack
def find_an_inherited_descriptor() -> None:
    if not INHERITED:
        raise FileNotFoundError(errno.ENOENT, "none")


# --- the network -------------------------------------------------------------------------------------


def connect(family: int, kind: int, address: tuple[str, int] | str) -> None:
    with socket.socket(family, kind) as made:
        made.settimeout(20)
        made.connect(address)


@attack
def connect_over_tcp() -> None:
    connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", FACTS["port"]))


@attack
def send_over_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"secret", ("127.0.0.1", FACTS["port"]))


@attack
def listen_for_others() -> None:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        made.listen()


@attack
def open_a_socket_of_the_newer_internet() -> None:
    socket.socket(socket.AF_INET6).close()


@attack
def open_a_raw_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attack
def open_a_packet_socket() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@attack
def open_a_netlink_socket() -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()


@attack
def connect_to_a_service_by_its_path() -> None:
    connect(socket.AF_UNIX, socket.SOCK_STREAM, FACTS["socket"])


@attack
def connect_to_an_abstract_socket() -> None:
    connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + FACTS["abstract"])


@attack
def set_io_uring_up() -> None:
    os.close(checked(LIBC.syscall(425, 8, ctypes.create_string_buffer(256))))


# --- the machine -------------------------------------------------------------------------------------


@attack
def ask_for_a_kernel_key() -> None:
    checked(LIBC.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 1))  # the session's keyring


@attack
def have_capabilities() -> None:
    with open("/proc/self/status", encoding="ascii") as status:
        values = dict(line.split(":\t") for line in status.read().splitlines() if ":\t" in line)
    if int(values["CapEff"], 16) == 0:
        raise PermissionError(errno.EPERM, "none")


@attack
def get_new_privileges() -> None:
    with open("/proc/self/status", encoding="ascii") as status:
        if "NoNewPrivs:\t1" in status.read():
            raise PermissionError(errno.EPERM, "given up")


@attack
def use_another_architecture() -> None:
    """An old way into the kernel, with numbers of its own; in a child, which it may cost its life."""
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "there is none")
    in_a_child(lambda: LIBC.syscall(0x40000000 | 39), expected_error=True)


@attack
def get_past_the_filter_with_32_bits() -> None:
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "there is none")

    def old_call() -> None:
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(bytes.fromhex("b814000000cd80c3"))  # getpid, by int 0x80
        address = ctypes.addressof(ctypes.c_char.from_buffer(code))
        if ctypes.CFUNCTYPE(ctypes.c_int)(address)() <= 0:
            raise OSError(errno.ENOSYS, "not here")

    in_a_child(old_call)


def in_a_child(function: Callable[[], object], *, expected_error: bool = False) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        except OSError as error:
            os._exit(0 if expected_error else error.errno or 1)
        except BaseException:  # noqa: BLE001  # nothing of it may go on in the child
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code if code > 0 else errno.EPERM, f"ended with {code}")


# --- what must still work ----------------------------------------------------------------------------


def works() -> dict[str, bool]:
    temporary = tempfile.gettempdir()
    with open(os.path.join(temporary, "own"), "w", encoding="ascii") as file:
        file.write("x")
    one, other = socket.socketpair()
    with one, other, open(os.devnull, "wb") as nowhere, open(victim("write"), "rb") as seen:
        nowhere.write(b"x")
        return {
            "a temporary file": os.path.exists(file.name),
            "a pair of sockets": one.fileno() != other.fileno(),
            "reading the project": bool(seen.read()),
            "listing the project": "victims" in os.listdir(PROJECT),
            "starting programs": subprocess.run(["sh", "-c", "exit 7"], check=False).returncode == 7,
            "touching a file of its own": subprocess.run(["touch", file.name], check=False).returncode == 0,
        }


def attempt(function: Callable[[], object]) -> str:
    try:
        function()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "done"


if __name__ == "__main__":
    chosen = {name: function for name, function in ATTACKS.items() if name not in FACTS["not here"]}
    found = {name: attempt(function) for name, function in chosen.items()}
    print(json.dumps({"attacks": found, "works": works()}))
