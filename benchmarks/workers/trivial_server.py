"""python trivial_server.py SOCKET: answers the relay at once, and whoever says RAW1 with fewer words; TCP likewise.

Prints the TCP port when it listens; ends with its stdin.
"""

import os
import socket
import struct
import sys
import threading

REPLY = b'{"continue": true}\n'
ACK = b"FLA1" + struct.pack("<IIII", 60_000, 2, 0, 0)
WHOLE = ACK + b"FLR1" + struct.pack("<III", 0, len(REPLY), 0) + REPLY + b"DONE"


def number(line: socket.socket, form: str = "<I") -> int:
    value: int = struct.unpack(form, line.recv(struct.calcsize(form), socket.MSG_WAITALL))[0]
    return value


def answer(line: socket.socket) -> None:
    with line:
        mark = line.recv(4, socket.MSG_WAITALL)
        if mark == b"FLH1":
            for _ in range(2):
                for _ in range(number(line)):
                    line.recv(number(line), socket.MSG_WAITALL)
            line.recv(number(line), socket.MSG_WAITALL)
            line.recv(number(line, "<Q"), socket.MSG_WAITALL)
            line.sendall(WHOLE)
        elif mark:
            line.recv(number(line), socket.MSG_WAITALL)
            line.sendall(REPLY)


def answer_lines(line: socket.socket) -> None:
    """For Bash: a key, a length, the event."""
    with line, line.makefile("rb") as file:
        file.readline()
        file.read(int(file.readline() or 0))
        line.sendall(REPLY)


def main(path: str) -> None:
    here = socket.socket(socket.AF_UNIX)
    here.bind(path)
    os.chmod(path, 0o600)
    here.listen(64)
    loopback = socket.create_server(("127.0.0.1", 0))
    for listening, serve in ((here, answer), (loopback, answer_lines)):
        threading.Thread(target=keep, args=(listening, serve), daemon=True).start()
    print(loopback.getsockname()[1], flush=True)
    sys.stdin.read()


def keep(listening: socket.socket, serve: object) -> None:
    assert callable(serve)
    while True:
        serve(listening.accept()[0])


main(sys.argv[1])
