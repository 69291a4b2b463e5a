"""Forty ways to spell one command differently, none of which changes what it does."""

from __future__ import annotations

import base64
from collections.abc import Callable

Transform = Callable[[str], str]


def _double(text: str) -> str:
    for char in '\\"$`':
        text = text.replace(char, "\\" + char)
    return f'"{text}"'


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _first_word(command: str, change: Transform) -> str:
    first, _, rest = command.partition(" ")
    return f"{change(first)} {rest}".rstrip()


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def _octal(text: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in text.encode())


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


TRANSFORMS: dict[str, Transform] = {
    "as it is": lambda c: c,
    "quoted first letter": lambda c: _first_word(c, lambda w: f'"{w[0]}"{w[1:]}'),
    "empty quotes inside": lambda c: _first_word(c, lambda w: f"{w[0]}''{w[1:]}"),
    "backslash first": lambda c: "\\" + c,
    "backslash inside": lambda c: _first_word(c, lambda w: f"{w[0]}\\{w[1:]}"),
    "ansi quoted name": lambda c: _first_word(c, lambda w: f"$'{_hex(w)}'"),
    "ansi octal name": lambda c: _first_word(c, lambda w: f"$'{_octal(w)}'"),
    "extra blanks": lambda c: c.replace(" ", "   ", 1),
    "tab": lambda c: c.replace(" ", "\t", 1),
    "continued line": lambda c: c.replace(" ", " \\\n ", 1),
    "full path": lambda c: _first_word(c, lambda w: f"/usr/bin/{w}"),
    "sudo": lambda c: f"sudo {c}",
    "sudo with a user": lambda c: f"sudo -n -u root {c}",
    "env": lambda c: f"env {c}",
    "env with a variable": lambda c: f"env -i A=1 {c}",
    "env -S": lambda c: f"env -S {_single(c)}",
    "variable in front": lambda c: f"FOO=bar {c}",
    "nohup": lambda c: f"nohup {c} &",
    "timeout": lambda c: f"timeout -k 5 10 {c}",
    "nice": lambda c: f"nice -n 10 {c}",
    "time": lambda c: f"time {c}",
    "command": lambda c: f"command {c}",
    "exec": lambda c: f"exec {c}",
    "sh -c": lambda c: f"sh -c {_single(c)}",
    "bash -lc": lambda c: f"bash -lc {_double(c)}",
    "nested shells": lambda c: f"bash -c {_single('sh -c ' + _single(c))}",
    "eval": lambda c: f"eval {_single(c)}",
    "substitution": lambda c: f"echo $({c})",
    "backquotes": lambda c: f"echo `{c}`" if "`" not in c and "\\" not in c else f"echo $({c})",
    "subshell": lambda c: f"( {c} )",
    "group": lambda c: f"{{ {c}; }}",
    "function": lambda c: f"f() {{ {c}; }}; f",
    "after a command": lambda c: f"echo hi && {c}",
    "after a failure": lambda c: f"false || {c}",
    "in a pipe": lambda c: f"echo y | {c}",
    "in an if": lambda c: f"if true; then {c}; fi",
    "in a loop": lambda c: f"for i in 1; do {c}; done",
    "piped to a shell": lambda c: f"echo {_single(c)} | bash",
    "base64": lambda c: f"echo {_base64(c)} | base64 -d | sh",
    "here-document": lambda c: f"bash <<'END'\n{c}\nEND",
    "name in a variable": lambda c: _first_word(f"X={c.split()[0]}; {c}", lambda w: w).replace(f"; {c.split()[0]}",
    "; $X", 1),
    "after a comment": lambda c: f"# nothing\n{c}",
}  # fmt: skip

MENTIONS: dict[str, Transform] = {
    "printed": lambda c: f"echo {_single(c)}",
    "searched": lambda c: f"rg {_single(c)} README.md",
    "searched with grep": lambda c: f"grep -rn {_single(c)} docs/",
    "in a commit message": lambda c: f"git commit -m {_single('fix: do not run ' + c)}",
    "written to a file": lambda c: f"cat > notes.md <<'END'\nnever run {c}\nEND",
    "in a comment": lambda c: "ls # " + c.replace("\n", " "),
    "in an issue": lambda c: f"gh issue create --title x --body {_single(c)}",
    "in a variable that is printed": lambda c: f"W={_single(c)}; echo \"$W\"",
    "in a json body": lambda c: f"jq -n --arg c {_single(c)} '$c'",
    "as a test name": lambda c: f"pytest -k {_single(c)}",
}  # fmt: skip

DENIED = (
    "rm -rf /",
    "rm -rf ~",
    "rm -r -f /etc",
    "rm -rf /home/u/project",
    "find / -delete",
    "chmod -R 777 /",
    "dd if=/dev/zero of=/dev/sda",
    "mkfs.ext4 /dev/sda1",
    "mv /etc /tmp/etc",
    "cp x /etc/passwd",
    "git reset --hard",
    "git push --force origin main",
    "git clean -fdx",
    "git stash clear",
    "rm -rf .git",
    "git reflog expire --expire=now --all",
    "kubectl delete namespace prod",
    "terraform destroy -auto-approve",
    "aws s3 rm s3://bucket --recursive",
    "dropdb production",
    "shutdown -h now",
    "userdel -r bob",
    "iptables -F",
    "crontab -r",
    "zpool destroy tank",
)
