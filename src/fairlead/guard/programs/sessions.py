"""Commands that programs read from a session, from project files that this command wrote, or from what it fetched."""

from __future__ import annotations

import json
import re

from fairlead.guard._lazy import lazy
from fairlead.guard.code import scan
from fairlead.guard.effects import Stream
from fairlead.guard.options import options
from fairlead.guard.packs import reads
from fairlead.guard.paths import join
from fairlead.guard.programs import program
from fairlead.guard.programs.builtins import shell_escape
from fairlead.guard.programs.files import touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_ESCAPE = lazy(r"^[ \t]*(?:[\d,$%.]*!|\\!|:!|\.shell\b|\.system\b|shell\b|system\b|!exec\b)[ \t]*(\S.*)", re.MULTILINE)
_SHELL = lazy(r"(?:\A|[\s\"'(@!])(?:/\S*/)?(?:ba|da|z|k)?sh(?=[\s\"')<;]|\Z)")


@reads(
    *(
        "ed ex vi vim nvim view ftp sftp lftp telnet gdb lldb mail mailx mutt less more man bc dc gnuplot "
        "octave irb pry cpan hg tclsh wish expect psql mysql mariadb sqlite3 sqlite sqlplus mongo maxima gp "
        "scilab tasksh nslookup ghci sas ksh rlwrap crash puppet facter nmap aspell msfconsole smbclient "
        "ansible-console"
    ).split()
)
def _session(call: Call) -> None:
    """Lines that an interactive program hands to a shell."""
    text = call.stdin.text
    if not text or call.name == "ksh":
        return
    for match in _ESCAPE.finditer(text):
        if _SHELL.fullmatch(match[1].strip()):
            shell_escape(call)
        call.shell.child().run_text(match[1].strip().strip("'\""))
    if call.name in ("tclsh", "wish", "cpan", "irb", "pry", "ghci") and _SHELL.search(text):
        shell_escape(call)


_STARTS = lazy(
    r"--?(?:exec|command|cmd|scripts?|[\w-]*hook|use-askpass|askpass|pager|editor|shell-cmd|rsh|proxy-command|to-command|run-cmd"
    r"|post-(?:cmd|command)|pre-(?:cmd|command)|on-(?:change|success|error|exit)|filter-cmd|sh-exec|shellcmd)\Z"
)


def option_programs(call: Call) -> None:
    """Options by whose name a program starts another one, whatever program it is."""
    for index, arg in enumerate(call.args):
        if arg[:1] != "-":
            continue
        name, equals, value = arg.partition("=")
        if not _STARTS.match(name):
            continue
        text = value if equals else "".join(call.args[index + 1 : index + 2])
        if text and not text.startswith("-"):
            call.shell.child().run_text(text)
            if re.match(r"/(?:tmp|var/tmp|dev/shm)/\S+\Z", text):
                shell_escape(call)


@reads("wget")
def _asks(call: Call) -> None:
    option_programs(call)


_REMOVES_SOURCES = frozenset({"-sdel", "-df", "-dr", "-dw"})


@program("7z", "7za", "7zr", "7zz", "rar", "cpio", "ar", "zpaq", "pax")
def other_archives(call: Call) -> Stream:
    words = options(call.args).operands
    if _REMOVES_SOURCES & set(call.args) or (call.name == "rar" and words[:1] in (["m"], ["mf"])):
        for word in words[2:]:
            touch(call, "delete", word, many=True)
    for word in words[1:] if words[:1] in (["a"], ["u"]) or call.name == "pax" else []:
        touch(call, "read", word, note="pack")
    return Stream(None)


@program("go")
def go_program(call: Call) -> Stream | None:
    """``go run`` of a text that this command holds."""
    words = options(call.args).operands
    if words[:1] != ["run"]:
        return None
    for word in words[1:]:
        known = call.stdin if word in ("-", "/dev/stdin") else call.shell.record.files.get(join(call.shell.cwd, word))
        if known is not None and known.text:
            scan(call, known.text, "go")
    return None


_STARTERS = (
    "java dotnet mono wine rpm dpkg installer msiexec pip pip3 npm kubectl docker nohup "
    "start insmod sqlite3 osascript cscript wscript lua Rscript julia ansible-playbook make nim"
).split()


@reads(*_STARTERS)
def _fetched(call: Call) -> None:
    """A file that this same command fetched, handed to a program that runs it."""
    for arg in call.args:
        known = call.shell.record.files.get(join(call.shell.cwd, arg)) if not arg.startswith("-") else None
        if known is not None and known.hosts:
            call.shell.effect("run", call.words, host=known.hosts[0], note="network")


@reads("npm", "yarn", "pnpm", "bun")
def _package_scripts(call: Call) -> None:
    """Scripts that this command put into package.json and now lets run."""
    words = options(call.args).operands
    if words[:2] in (["pkg", "set"], ["set-script"]):
        for word in words[2:]:
            name, equals, text = word.partition("=")
            if equals and name.startswith("scripts."):
                call.shell.child().run_text(text)
        return
    known = call.shell.record.files.get(join(call.shell.cwd, "package.json"))
    if known is None or not known.text:
        return
    try:
        scripts = json.loads(known.text).get("scripts", {})
    except (ValueError, AttributeError):
        return
    for text in list(scripts.values()) if isinstance(scripts, dict) else []:
        call.shell.child().run_text(str(text))


@reads("make", "gmake")
def _recipes(call: Call) -> None:
    """Recipes of a Makefile that this command wrote."""
    known = next(
        (found for name in ("Makefile", "makefile", "GNUmakefile")
         if (found := call.shell.record.files.get(join(call.shell.cwd, name))) is not None),
        None,
    )  # fmt: skip
    if known is not None and known.text:
        for recipe in re.findall(r"^\t[-@+]*(.+)", known.text, re.MULTILINE):
            call.shell.child().run_text(re.sub(r"\$[({](\w+)[)}]", r"$\1", recipe))


@reads("tftp", "ncftpget", "ftpget", "aria2c", "scp", "axel")
def _fetches(call: Call) -> None:
    """Where a client puts what it fetches."""
    opts = options(call.args, short="cdoP", long=("dir", "out", "command"))
    names = opts.values("o", "out")
    if call.name in ("tftp", "ftpget", "ncftpget") and "get" in " ".join(call.args):
        names += call.args[-1:]
    directory = opts.value("d", "dir") or "."
    for name in names:
        call.shell.record.files[join(call.shell.cwd, f"{directory}/{name}")] = Stream(None, hosts=(call.words,))


@program("terraform", "tofu", "helm", "pulumi")
def outputs(call: Call) -> Stream | None:
    """Values of an installation, credentials among them."""
    words = options(call.args).operands
    shows = words[:1] in (["output"], ["show"]) or words[:2] in (["get", "values"], ["stack", "output"])
    return Stream(None, origin="outputs") if shows else None
