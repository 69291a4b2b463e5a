"""What the shell itself does: directories, variables, aliases, eval, source, shells."""

from __future__ import annotations

import re

from fairlead.guard.effects import EMPTY, OPAQUE, Stream
from fairlead.guard.options import options
from fairlead.guard.paths import join
from fairlead.guard.programs import PROGRAMS, program
from fairlead.guard.programs.files import touch
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

SHELLS = (
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "ash",
    "fish",
    "mksh",
    "csh",
    "tcsh",
    "rbash",
    "pwsh-sh",
    "yash",
    "nu",
    "xonsh",
)
_COMMON = frozenset(
    [
        "git",
        "ls",
        "cd",
        "sudo",
        "npm",
        "node",
        "python",
        "python3",
        "docker",
        "kubectl",
        "ssh",
        "rm",
        "cp",
        "mv",
        "cat",
        "make",
        "pip",
        "curl",
    ]
)


@program("cd", "pushd", "popd", "chdir", "z")
def change_directory(call: Call) -> Stream:
    operands = options([arg for arg in call.args if arg not in ("-L", "-P", "-e", "-@")]).operands
    if call.name == "popd" or "-" in call.args:
        call.shell.change_directory("-")
    else:
        call.shell.change_directory(operands[0] if operands else call.shell.home)
    return EMPTY


@program("export", "declare", "typeset", "readonly", "local")
def declare(call: Call) -> Stream:
    if call.args == ["-p"] or (not call.args and call.name in ("export", "declare", "typeset")):
        return Stream(None, origin="environment")
    for arg in call.args:
        name, equals, value = arg.partition("=")
        if equals:
            call.shell.variables[name.rstrip("+")] = value
            call.env[name] = value
            if name == "HISTFILE" or (name in ("HISTSIZE", "HISTFILESIZE") and value == "0"):
                hide_history(call)
    return EMPTY


def hide_history(call: Call) -> None:
    call.shell.effect(
        "system", call.words, rule="system.history-wiped", decision="ask",
        reason=f"`{call.words}` hides what is run from the shell's history",
    )  # fmt: skip


@program("unset", "shift", "set", "shopt", "setopt", "wait", "true", "false", ":", "test", "[", "return", "break",
         "continue", "umask", "ulimit", "hash", "exit", "sleep", "let", "getopts", "jobs", "fg", "bg",
         "disown")  # fmt: skip
def quiet(call: Call) -> Stream:
    if call.name == "unset":
        for name in call.args:
            call.shell.variables[name] = ""
    if call.name == "set" and not call.args:
        return Stream(None, origin="environment")
    if call.name == "unset" and "HISTFILE" in call.args:
        hide_history(call)
    if call.name == "set" and "--" in call.args:
        call.shell.positional = call.args[call.args.index("--") + 1 :]
    if call.name == "shift" and call.shell.positional:
        call.shell.positional = call.shell.positional[1:]
    return EMPTY


@program("read", "mapfile", "readarray")
def read(call: Call) -> Stream:
    text = call.stdin.text
    lines = text.strip("\n").split("\n") if text else []
    value = lines[0].strip() if len(lines) == 1 else UNKNOWN
    for name in options(call.args, short="adinNptuC").operands or ["REPLY"]:
        call.shell.variables[name] = value
    return EMPTY


@program("alias")
def alias(call: Call) -> Stream:
    for arg in call.args:
        name, equals, value = arg.partition("=")
        if not equals:
            continue
        call.shell.aliases[name] = value
        if name in _COMMON and not re.match(rf"\s*(?:command\s+)?\\?{re.escape(name)}\b[^;|&$`]*\Z", value):
            call.shell.effect(
                "settings", call.words, rule="self.shadowed-program", decision="ask",
                reason=f"the alias makes `{name}` run `{shown(value)}` instead",
            )  # fmt: skip
    return EMPTY


@program("eval")
def evaluate(call: Call) -> Stream:
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    text = " ".join(args)
    met_before = len(call.shell.record.calls)
    out = run_program_text(call, text, call.shell.record.substituted if UNKNOWN in text else None)
    if any(inner.name not in PROGRAMS for inner in call.shell.record.calls[met_before:]) and UNKNOWN not in text:
        _strange(call)
    return out


def _strange(call: Call) -> None:
    """Nobody writes ``eval`` around a program in plain text without a reason."""
    call.shell.effect(
        "unknown", call.words, rule="guard.unknown-program",
        reason=f"`{call.words}` runs a program through eval that the guard does not know",
        suggestion="run it without eval",
    )  # fmt: skip


def run_program_text(call: Call, text: str, source: Stream | None) -> Stream:
    """Run shell text; if it is not known, say what is known of where it comes from."""
    if text.strip(UNKNOWN + " \n\"';") == "" and UNKNOWN in text:
        unknown_program(call, source)
        return OPAQUE
    return call.shell.run_text(text, call.stdin)


def unknown_program(call: Call, source: Stream | None) -> None:
    if source is not None and source.hosts:
        call.shell.effect("run", call.words, host=source.hosts[0], note="network")
    elif source is None or not source.origin.startswith("safe:"):
        call.shell.effect(
            "unknown", call.words, rule="guard.unknown-program",
            reason=f"`{call.words}` runs shell text that cannot be read from the command",
            suggestion="write the commands out, so that they can be read before they run",
        )  # fmt: skip


@program("source", ".")
def source(call: Call) -> Stream:
    operands = call.args[1:] if call.args[:1] == ["--"] else call.args
    if operands:
        _script_file(call, operands[0])
    return OPAQUE


_STDIN = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def _script_file(call: Call, operand: str) -> None:
    """Run a script: its text if this command wrote it, else only what its name says."""
    path = join(call.shell.cwd, operand)
    known = call.stdin if path in _STDIN else call.shell.record.files.get(path)
    if known is not None and known.text is not None and UNKNOWN not in known.text[:1]:
        call.shell.run_text(known.text)
    elif known is not None:
        unknown_program(call, known)
    elif operand == UNKNOWN:
        unknown_program(call, None)
    else:
        touch(call, "run", operand, note="script")


@program(*SHELLS)
def shell(call: Call) -> Stream:
    text, script, rest = _shell_arguments(call.args)
    if any(re.match(r"-[a-z]*n[a-z]*\Z", arg) for arg in call.args[:2]) and call.name != "nu":
        return OPAQUE
    if call.fed and UNKNOWN in (script or text or ""):
        unknown_program(call, None)
        return OPAQUE
    inner = call.shell.child()
    for name, value in call.env.items():
        inner.variables[name] = value
    _startup_files(call)
    if text is not None:
        inner.script = rest[0] if rest else call.name
        inner.positional = rest[1:]
        if text.strip(UNKNOWN + " ") == "" and UNKNOWN in text:
            unknown_program(call, call.shell.record.substituted)
            return OPAQUE
        return inner.run_text(text, call.stdin)
    if script:
        inner.positional, inner.script = rest, script
        call.shell, outer = inner, call.shell
        _script_file(call, script)
        call.shell = outer
        return OPAQUE
    return _from_stdin(call, inner)


def _from_stdin(call: Call, inner: object) -> Stream:
    stdin = call.stdin
    if any(re.match(r"--?(?:version|help)\Z", arg) for arg in call.args):
        return OPAQUE
    if stdin.text is not None and stdin.text.strip(UNKNOWN + "\n ") != "":
        return inner.run_text(stdin.text)  # type: ignore[attr-defined,no-any-return]
    if stdin.hosts:
        call.shell.effect("run", call.words, host=stdin.hosts[0], note="network")
    elif (stdin.text is None and not (stdin.origin and stdin.origin.startswith("/"))) or (
        stdin.text and UNKNOWN in stdin.text
    ):
        unknown_program(call, stdin)
    elif (call.fed or call.shell.texts > 1) and not call.shell.place:
        shell_escape(call)
    elif not stdin.origin and not call.shell.place:
        open_session(call)
    return OPAQUE


def open_session(call: Call) -> None:
    """A shell or interpreter without a program; some agents ask no hook about what is typed into it later."""
    call.shell.effect(
        "unknown", call.words, rule="guard.open-session", decision="ask",
        reason=f"`{call.words}` waits for commands, and what is typed there later cannot be read now",
        suggestion="give it the command: `bash -c '...'`, `python -c '...'`, or a file",
    )  # fmt: skip


def shell_escape(call: Call) -> None:
    """A bare shell that another program opens: what is typed there, nobody reads."""
    call.shell.effect(
        "run", call.words, rule="system.shell-escape", decision="ask",
        reason=f"`{call.words}` opens a shell from inside another program",
        suggestion="run the commands directly, so that they can be read",
    )  # fmt: skip


def _shell_arguments(args: list[str]) -> tuple[str | None, str, list[str]]:
    """Return the ``-c`` text, or the script, and what follows."""
    index = 0
    command = False
    while index < len(args):
        arg = args[index]
        if arg in ("-O", "+O", "-o", "+o", "--rcfile", "--init-file"):
            index += 2
            continue
        if arg == "--" or not re.match(r"[-+]", arg) or arg == "-":
            index += arg == "--"
            break
        if arg == "--command" or (re.match(r"-[A-Za-z]*c", arg) and not arg.startswith("--")):
            command = True
        elif arg == "-s" or (re.match(r"-[a-z]*s[a-z]*\Z", arg) and not arg.startswith("--")):
            return None, "", args[index + 1 :]
        index += 1
    rest = args[index + (args[index : index + 1] == ["--"]) :]
    if command:
        return (rest[0] if rest else UNKNOWN), "", rest[1:]
    if rest[:1] in (["/dev/stdin"], ["-"]):
        return None, "", rest[1:]
    return None, (rest[0] if rest else ""), rest[1:]


def _startup_files(call: Call) -> None:
    opts = options(call.args, long=("rcfile", "init-file"), short="cOo")
    names = opts.values("rcfile", "init-file") + [call.env[name] for name in ("BASH_ENV", "ENV") if name in call.env]
    for name in names:
        if name not in ("/dev/null", "") and call.shell.record.files.get(join(call.shell.cwd, name)) is None:
            unknown_program(call, None)
        else:
            _script_file(call, name)


@program("trap")
def trap(call: Call) -> Stream:
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if args and args[0] not in ("-", "", "-l", "-p"):
        call.shell.child().run_text(args[0])
    return EMPTY


@program("compgen")
def complete(call: Call) -> Stream:
    return Stream(None, origin="environment") if {"-e", "-v"} & set(call.args) else OPAQUE


@program("history", "fc")
def history(call: Call) -> Stream:
    if call.name == "history" and options(call.args).has("c", "d", "w"):
        call.shell.effect(
            "system", call.words, rule="system.history-wiped", decision="ask",
            reason=f"`{call.words}` removes the record of what was run",
        )  # fmt: skip
    return Stream(None, origin="history")
