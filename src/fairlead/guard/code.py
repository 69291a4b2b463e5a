"""Reading program text in other languages for what it deletes, writes, runs and sends.

This is no parser: it looks for the calls that do harm and for the literal arguments of these
calls. A harmful call whose argument is not a literal counts as unknown.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata

from fairlead.guard._lazy import lazy, mentions
from fairlead.guard.code_risks import Risks
from fairlead.guard.code_text import plain
from fairlead.guard.paths import join
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_STRING = (
    r"[rbuf]{0,2}(?:'''(?P<a>(?:[^']|'(?!'')){0,2000}+)'''|\"\"\"(?P<b>(?:[^\"]|\"(?!\"\")){0,2000}+)\"\"\""
    r"|'(?P<c>(?:[^'\\\n]++|\\.)*+)'|\"(?P<d>(?:[^\"\\\n]++|\\.)*+)\"|`(?P<e>(?:[^`\\]++|\\.)*+)`)"
)
_LITERAL = lazy(_STRING, re.DOTALL)
LENGTH = 50_000
_PATH_OF = r"(?:Path|PurePath|pathlib\.Path|path\.join|os\.path\.expanduser|os\.path\.join)\(\s*"

_DELETE_TREE = lazy(
    r"\b(?:shutil\.rmtree|rmtree|fs\.(?:promises\.)?rm(?:Sync)?|rimraf(?:\.sync)?|rmSync|removeSync|emptyDirSync"
    r"|fs\.rmdirSync|FileUtils\.(?:rm_rf|rm_r|remove_dir|remove_entry(?:_secure)?|rmtree)|remove_tree"
    r"|File::Path::rmtree"
    r"|Deno\.remove(?:Sync)?|os\.RemoveAll|del\.sync|fsExtra\.remove|File\.rm_rf!?|remove_dir_all|removeDirectoryRecursive"
    r"|Directory\.Delete|delete-directory|file delete -force|removeItem\(atPath:|FileUtils\.deleteDirectory|removeDir"
    r"|unlink(?=\([^)\n]{0,120}recursive\s*=\s*(?:TRUE|T)\b)|\brm(?=\([^)\n]{0,120}recursive\s*=\s*true))\s*\(?\s*"
)
_DELETE_ONE = lazy(
    r"\b(?:os\.(?:remove|unlink|rmdir|removedirs)|fs\.(?:promises\.)?unlink(?:Sync)?|unlinkSync|unlink"
    r"|FileUtils\.rm(?:_f)?"
    r"|File\.(?:delete|unlink)|Dir\.(?:delete|rmdir)|os\.Remove|rmdir)\b\s*\(?\s*"
)
_PATH_DELETE = lazy(_STRING + r"\s*\)?(?:\.\w+\([^)]*\))*\.(?:unlink|rmdir|rmtree)\(", re.DOTALL)
_WALKED = lazy(_STRING + r"\s*\)?\.(?:rglob|glob|iterdir|walk)\(", re.DOTALL)
_WALK_OF = lazy(r"(?:os\.(?:walk|scandir|listdir)\(|finddepth\(.{0,200}?,)\s*" + _STRING, re.DOTALL)
_OPEN_WRITE = lazy(
    r"\b(?:open|io\.open|codecs\.open|File\.open|File\.new|fopen)\s*\(\s*"
    + _STRING
    + r"\s*,\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]",
    re.DOTALL,
)
_WRITE_CALL = lazy(
    r"\b(?:fs\.(?:promises\.)?(?:write|append)File(?:Sync)?|writeFileSync|appendFileSync|file_put_contents"
    r"|File\.(?:write|binwrite)"
    r"|Deno\.writeTextFile(?:Sync)?|Bun\.write|IO\.write)\s*\(\s*" + _STRING,
    re.DOTALL,
)
_PATH_WRITE = lazy(_STRING + r"\s*\)?\.(?:write_text|write_bytes|touch|rename|symlink_to)\(", re.DOTALL)
_PATH_READ = lazy(_STRING + r"\s*\)?\.(?:read_text|read_bytes|open)\(", re.DOTALL)
_NAMED_WRITE = lazy(
    r"\b(?:open|io\.open|writeFileSync|fs\.writeFile(?:Sync)?|file_put_contents|File\.write)\s*\(\s*(?P<name>\w+)\s*,"
    r"(?!\s*['\"](?:r|utf))"
)
_READ_CALL = lazy(
    r"\b(?:open|io\.open|File\.read|File\.open|IO\.read|file_get_contents|fopen|fs\.(?:promises\.)?readFile(?:Sync)?"
    r"|readFileSync"
    r"|Path|Deno\.readTextFile(?:Sync)?)\s*\(\s*" + _STRING,
    re.DOTALL,
)
_RUN_CALL = lazy(
    r"(?:\b(?:os\.(?:system|popen|execute|execl|execlp|execv|execve|execvp|spawnl|spawnlp|spawnv|spawnvp|posix_spawn)"
    r"|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|pty\.spawn|commands\.getoutput"
    r"|asyncio\.create_subprocess_(?:shell|exec)|execSync|spawnSync|execFileSync|Kernel\.(?:system|exec|spawn)"
    r"|IO\.popen"
    r"|Open3\.\w+|Bun\.spawn(?:Sync)?|Deno\.run|exec\.Command|shell_exec|passthru|proc_open)"
    r"|(?:Sys\.command|callCommand|System\.Process\.system|:?os[.:]cmd|System\.(?:cmd|shell)|(?:uiop:)?run-program|shell-command"
    r"|call-process|start-process|execShellCmd|execCmd|ProcessBuilder|getRuntime\(\)\.exec|Process\.(?:run|Start)|io\.popen"
    r"|Command::new|system2|sh\.exec|execa(?:Command)?(?:Sync)?|Process\.runSync|ChildProcess\.exec|shell)"
    r"|child_process['\")]*\.(?:exec|spawn|execFile|fork)(?:Sync)?|(?<![.\w$])(?:exec|spawn|system|popen"
    r"|qx))\b\s*\(?\s*(?=['\"`\[(\w])"
)
# A literal that goes on is only a piece of the argument.
_CONTINUED = lazy(r"\s*(?:[+%]|\.(?:format|join|replace|decode|lower|split|strip)\b)")
_BACKTICKS = lazy(r"(?<![\w$.])`([^`\n]+)`|%x[\[({]([^\])}]+)[\])}]|\bqx[{(\[/]([^})\]/]+)[})\]/]")
# The distance is bounded, or many openings without an end would cost quadratic time.
_DECODED_RUN = lazy(
    r"\b(?:exec|eval|Function|instance_eval|compile)\s*\(.{0,200}?(?:b64decode|atob|Buffer\.from|fromhex|unhexlify"
    r"|decode64"
    r"|base64_decode|unpack|decompress|decode\()",
    re.DOTALL,
)
_BASE64 = lazy(r"['\"]([A-Za-z0-9+/=_-]{8,})['\"]")
_ASSIGNED = lazy(r"\b(\w++)\s*+=\s*+" + _STRING, re.DOTALL)
_WORDS = lazy(r"[\[(]?\s*((?:" + _STRING.replace("?P<", "?P<_") + r"\s*,?\s*)+)", re.DOTALL)
_LISTED = lazy(r"\s*" + _STRING + r"\s*,\s*\[([^\]]*)\]", re.DOTALL)
_ESCAPED = lazy(r"\\(.)")
# Without one of these nothing happens that anyone would stop.
_ANCHORS = (
    "rm remove open write read system exec unlink delete rimraf spawn sub ` %x qx socket eval function env requests "
    "getattr import chr( cookie cmd shell process runtime fetch urlopen axios http file path drop truncate fork flush "
    "connect pty run"
).split()
# The cheap question before the patterns: one of these words stands in everything that they find.
_DELETING = ("rm", "emove", "unlink", "elete", "rimraf", "emptyDir", "del.sync")
_OPENING = ("open", "write", "append", "read", "Path", "File.", "file_", ".touch(", ".rename(", ".symlink_to(")
_RUNNING = (
    "system exec subprocess spawn popen getoutput Open3 Deno.run passthru proc_open ommand cmd shell process Process "
    "run-program qx"
).split()
_DECODING = ("decode", "atob", "Buffer.from", "fromhex", "unhexlify", "unpack", "decompress")


def scan(call: Call, text: str, language: str) -> None:
    """Report the effects of a program given as text."""
    if not text.isascii():  # Python reads its names in this form: letters that only look odd are plain ones
        text = unicodedata.normalize("NFKC", text)
    if not mentions(text.lower(), *_ANCHORS):
        return
    if len(text) > LENGTH:
        call.shell.effect(
            "unknown", call.words, rule="guard.unknown-program",
            reason=f"{len(text)} characters of {language} are more than the guard reads",
            suggestion="write the program to a file, so that it can be looked at",
        )  # fmt: skip
        return
    call.shell.record.steps.append(f"reads {len(text)} characters of {language}")
    reader = _Scanner(call, text, language)
    reader.deletes()
    reader.files()
    reader.programs()
    Risks(call, reader.text, language, reader.literals()).report()


def _literal(match: re.Match[str]) -> str:
    for value in match.group("a", "b", "c", "d", "e"):
        if value is not None:
            return _ESCAPED.sub(_unescaped, value) if "\\" in value else str(value)
    return ""


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(match[1], match[1])


class _Scanner:
    def __init__(self, call: Call, text: str, language: str) -> None:
        self.call = call
        self.text = plain(text, language)
        self.language = language
        self._assigned: dict[str, str] | None = None
        self._reported: set[tuple[str, str, bool]] = set()

    @property
    def variables(self) -> dict[str, str]:
        """Return the names that hold a literal."""
        if self._assigned is None:
            self._assigned = {match[1]: _literal(match) for match in _ASSIGNED.finditer(self.text)}
        return self._assigned

    def effect(self, kind: str, path: str, *, many: bool = False) -> None:
        """Report an effect; a program that does the same a hundred times does it once."""
        if (kind, path, many) in self._reported:
            return
        self._reported.add((kind, path, many))
        shell = self.call.shell
        if path[:1] == "~" and path[1:2] in ("", "/"):
            path = shell.home + path[1:]
        full = join(shell.cwd, path) if path != UNKNOWN else UNKNOWN
        shell.effect(kind, self.call.words, path=full, many=many, note="code")

    def argument(self, at: int) -> str:
        """Return the first argument of a call as a path: a literal, a known name, or unknown."""
        rest = re.sub(rf"\A(?:{_PATH_OF})+", "", self.text[at : at + 400])
        home = re.match(
            r"(?:os\.environ\[['\"]HOME['\"]\]|process\.env\.HOME|os\.homedir\(\)|Dir\.home|ENV\[['\"]HOME['\"]\]"
            r"|Path\.home\(\))",
            rest,
        )
        if home:
            return self.call.shell.home
        match = _LITERAL.match(rest)
        if match:
            if _CONTINUED.match(rest, match.end()):
                return UNKNOWN
            value = _literal(match)
            return re.sub(r"\$\{[^}]*\}|#\{[^}]*\}|\{\w+\}|\$\w+", UNKNOWN, value)
        if self.language in ("tcl", "lisp") and (bare := re.match(r"[~/][^\s)\"]*", rest)):
            return bare[0]
        name = re.match(r"\w+(?=\s*[,)\]]|\Z)", rest)
        return self.variables.get(name[0], UNKNOWN) if name else UNKNOWN

    def deletes(self) -> None:
        if not mentions(self.text, *_DELETING, "finddepth"):
            return
        for match in _DELETE_TREE.finditer(self.text):
            if not self._imported(match):
                self.effect("delete", self.argument(match.end()), many=True)
        for match in _DELETE_ONE.finditer(self.text):
            if not self._imported(match) and not self._method(match):
                path = self.argument(match.end())
                self.effect("delete", path, many=path == UNKNOWN and self._walks())
        if mentions(self.text, ".unlink(", ".rmdir(", ".rmtree("):
            for match in _PATH_DELETE.finditer(self.text):
                self.effect("delete", _literal(match), many="rmtree" in match[0])
        if re.search(r"\.(?:unlink|rmdir)\(|os\.(?:remove|unlink)\(|rmtree\(|unlinkSync|finddepth", self.text):
            self._walked()

    def _walked(self) -> None:
        """Everything that a walk finds is deleted."""
        for pattern in (_WALKED, _WALK_OF):
            for match in pattern.finditer(self.text):
                value = _literal(match)
                if re.match(r"(?:~|/|\.\.?|/home/[^/]+|/etc|/var|/usr)/?\Z", value):
                    self.effect("delete", value, many=True)

    def literals(self) -> list[tuple[int, str]]:
        """Return where strings stand and what they say."""
        return [(match.start(), _literal(match)) for match in _LITERAL.finditer(self.text)]

    def _walks(self) -> bool:
        """Say whether the program goes through the names of a directory."""
        return re.search(r"listdir|scandir|iterdir|\bglob\b|\bwalk\b|readdir|Dir\.|<\*", self.text) is not None

    def _imported(self, match: re.Match[str]) -> bool:
        """``from shutil import rmtree`` and ``def unlink`` are no calls."""
        before = self.text[max(0, match.start() - 40) : match.start()]
        return bool(re.search(r"(?:import|def|function|require\(['\"])\s*[\w, {]*\Z", before))

    def _method(self, match: re.Match[str]) -> bool:
        """A bare ``unlink`` counts in Perl and PHP; elsewhere it is a method of something."""
        return re.match(r"(?:unlink|rmdir)\b", match[0]) is not None and self.language not in ("perl", "php")

    def files(self) -> None:
        if not mentions(self.text, *_OPENING):
            return
        self._each("write", _OPEN_WRITE, "open", "File.new")
        self._each("write", _WRITE_CALL, "write", "append", "file_put_contents")
        self._each("write", _PATH_WRITE, ".write_", ".touch(", ".rename(", ".symlink_to(")
        self._each("read", _READ_CALL, "open", "read", "Path", "file_get_contents", "File.")
        self._each("read", _PATH_READ, ".read_", ".open(")
        self._named()

    def _each(self, kind: str, pattern: re.Pattern[str], *hints: str) -> None:
        if mentions(self.text, *hints):
            for match in pattern.finditer(self.text):
                self.effect(kind, _literal(match))

    def _named(self) -> None:
        for match in _NAMED_WRITE.finditer(self.text):
            if match["name"] in self.variables:
                self.effect("write", self.variables[match["name"]])

    def programs(self) -> None:
        if mentions(self.text, *_RUNNING):
            for match in _RUN_CALL.finditer(self.text):
                self._run(match)
        if self.language == "javascript":
            for match in re.finditer(r"(?:\$|\bsh|\bexeca)`([^`]+)`", self.text):
                self.shell_text(match[1])
        if self.language in ("perl", "ruby", "php", "julia"):
            for match in _BACKTICKS.finditer(self.text):
                self.shell_text(match[1] or match[2] or match[3])
        if mentions(self.text, *_DECODING) and _DECODED_RUN.search(self.text):
            self._decoded()

    def _run(self, match: re.Match[str]) -> None:
        rest = self.text[match.end() : match.end() + 2000]
        if match[0].startswith("exec") and self.language == "python":
            return
        words = _WORDS.match(rest)
        if words is None or _CONTINUED.match(rest, words.end()):
            self._unknown_run(match, rest)
            return
        found = [_literal(item) for item in _LITERAL.finditer(words[1])]
        in_list = rest.lstrip().startswith(("[", "(")) or re.match(r"[^\[]*,\s*\[", rest)
        listed = _LISTED.match(rest)
        if listed:
            found = [
                found[0],
                *[_literal(item) for item in _LITERAL.finditer(listed[listed.lastindex or 0] or "")],
            ]
        if re.match(r"os\.(?:exec|spawn)", match[0]) and len(found) > 1:
            # The second word is what the program shall see as its own name.
            found.pop(1)
            in_list = True
        if in_list or len(found) > 1:
            self._start(found)
        else:
            self.shell_text(found[0])

    def _start(self, argv: list[str]) -> None:
        shell = self.call.shell.child()
        shell.texts += 1
        shell.call(self.call.again(argv, shell=shell))

    def _unknown_run(self, match: re.Match[str], rest: str) -> None:
        name = re.match(r"\w+", rest)
        if name and name[0] in self.variables:
            self.shell_text(self.variables[name[0]])
        elif re.match(r"(?:os\.system|os\.popen|system|shell_exec|passthru|execSync)", match[0]) and not self._imported(
            match
        ):
            self.call.shell.effect(
                "unknown", self.call.words, rule="guard.unknown-program",
                reason=f"the {self.language} program runs a shell command that it builds itself",
            )  # fmt: skip

    def shell_text(self, text: str) -> None:
        record = self.call.shell.record
        broken = record.broken
        self.call.shell.child().run_text(re.sub(r"\$\{[^}]*\}|#\{[^}]*\}", UNKNOWN, text))
        # A literal of another language need not be shell at all.
        record.broken = broken

    def _decoded(self) -> None:
        for match in _BASE64.finditer(self.text):
            try:
                decoded = base64.b64decode(match[1] + "=" * (-len(match[1]) % 4)).decode()
            except (binascii.Error, ValueError):
                continue
            if decoded.isprintable():
                scan(self.call, decoded, self.language)
        self.call.shell.effect(
            "unknown", self.call.words, rule="guard.decoded-program",
            reason=f"the {self.language} program decodes text and runs it",
        )  # fmt: skip
