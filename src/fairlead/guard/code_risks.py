"""What program text of other languages does beyond files: sends, shows, exhausts, empties."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy, mentions
from fairlead.guard.paths import folded, join
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_SOCKET = lazy(
    r"(?:\bsocket\b|TCPSocket|fsockopen|net\.(?:connect|Socket|createConnection|Dial)|IO::Socket|Socket::INET"
    r"|TCPServer|/inet/tcp/|gen_tcp|sys\.net|\bsocket:connect|TcpStream)",
    re.IGNORECASE,
)
_SHELL_END = lazy(
    r"(?:dup2|/bin/(?:ba|z|da)?sh|pty\.spawn|cmd\.exe|spawn\(|exec\(|\bsh -i\b|STDIN->fdopen|\.pipe\(|popen"
    r"|os\.execute|os:cmd|exec\.Command|\|&?\s*getline)",
    re.IGNORECASE,
)
_FETCH = lazy(
    r"urlopen|urlretrieve|requests\.get|httpx\.get|\bfetch\(|https?\.get\(|axios|open-uri|URI\.open|Net::HTTP\.get"
    r"|(?:file_get_contents|include|require)\s*\(?\s*['\"]https?:|LWP|HTTP::Tiny|socket\.http|download\.file"
    r"|url\(\s*['\"]https?:|\bget\s*\(?\s*['\"]https?:|\.recv\(|curl_exec|\bdownload\(|source\(\s*['\"]https?:|DownloadString",
)
_EVALUATE = lazy(
    r"(?:\b(?:exec|Function|instance_eval|compile|assert|loadstring|load|vm\.run\w*|runInThisContext|execSync"
    r"|exec\.Command|run)\s*\(|\beval\b|os\.system|\bsystem\s*\(|\bsource\(\s*['\"]https?:|\binclude\s*\(?\s*['\"]https?:)"
)
# What runs is text that the program makes or receives.
_DYNAMIC = lazy(
    r"(?<![\w.$>:])(?:eval|exec)\s*\(\s*(?!open\(|['\"]|\)|compile\(open|\"\"\"|\{|`)[\w$]"
    r"|getattr\(\s*(?:os|subprocess|builtins|__builtins__)\s*,(?!\s*['\"])|globals\(\)\s*\[\s*(?!['\"])"
    r"|__import__\(\s*(?!['\"])|\bnew Function\(\s*(?!['\"`])|\beval\s+(?:unpack|pack|decode_base64|join|\$)"
)
_SEND = lazy(
    r"\b(?:requests\.(?:post|put|patch)|httpx\.(?:post|put)|urllib\.request\.(?:urlopen|Request)|urlopen|axios"
    r"\.(?:post|put)|Net::HTTP|https?\.(?:request|client)|HTTP::Tiny|LWP|fetch|sendall|\.send|curl_init|HTTParty"
    r"|Faraday|file_get_contents|smtplib|ftplib|paramiko|httpoison|:httpc|Req\.post|dns\.resolve|gethostbyname)\b",
    re.IGNORECASE,
)
_SHOW = lazy(
    r"\b(?:print\w*|console\.(?:log|error|dir|table)|puts|echo|say|pp?|inspect|var_dump|cat|message|IO\.puts"
    r"|sys\.stdout|process\.stdout|Println|printf|warn|die|dump\w*|stringify|Sys\.getenv)\b|<<<"
)
_WHOLE_ENVIRONMENT = lazy(
    r"os\.environ\b(?!\s*(?:\.(?:get|setdefault|pop|update)\(|\[))|process\.env\b(?!\s*[.\[])"
    r"|\bENV\.(?:to_h|to_a|each|inspect|select|sort|map|filter)|%ENV\b|\bkeys %ENV|getenv\(\s*\)|\$_ENV\b(?!\[)"
    r"|Deno\.env\.toObject|Bun\.env\b(?!\s*[.\[])|System\.get_env\(?\s*\)?(?=\s*(?:\)|\||\Z))|Sys\.getenv\(\s*\)"
    r"|System\.getenv\(\s*\)|os\.Environ\(\)"
)
_ONE_VARIABLE = lazy(
    r"(?:os\.environ(?:\.get\(|\[)|os\.getenv\(|process\.env(?:\.|\[)|\bENV(?:\.fetch\(|\[)|\$ENV\{|\bgetenv\("
    r"|\$_(?:ENV|SERVER)\[|Sys\.getenv\(|Deno\.env\.get\(|Bun\.env(?:\.|\[)|os\.Getenv\(|System\.(?:getenv|get_env"
    r"|fetch_env!)\(?)\s*['\"]?(\w+)"
)
_ONLY_ASKED = lazy(r"(?:\bbool\(|!!|\blen\(|\bif\s+|typeof\s+|Boolean\(|\bnot\s+|\bisset\(|\bunless\s+)\s*\Z")
_ONLY_TESTED = lazy(
    r"['\"]?\s*[\])}]?\s*\)?\s*(?:\?(?![.?])|is (?:not )?None|[!=]==?\s*(?:undefined|null|None)|\.length|\.nil\?)"
)
_DATABASE = lazy(
    r"\.(?:query|execute|executemany|executescript|run|raw|exec|sql)\s*\(|connect\(|cursor\(|executeRaw|create_engine|PDO\(|mysqli",
    re.IGNORECASE,
)
_SQL = lazy(
    r"\b(?:DROP\s+(?:DATABASE|TABLE|SCHEMA)|TRUNCATE\s+(?:TABLE\s+)?\w|DELETE\s+FROM\s+\w+\s*[;'\"])", re.IGNORECASE
)
MODELS = lazy(
    r"\.objects\.all\(\)\.delete\(|\.objects\.(?:filter|exclude)\([^()]*\)\.delete\(\)|\b(?:delete_all|destroy_all"
    r"|truncate_tables?|drop_table|drop_database|drop_all)\b|\bdeleteMany\(\s*(?:\{\s*\})?\s*\)|\.query\(\)?\.delete\("
    r"|(?:::|->)truncate\(|::query\(\)->delete\(|\.destroy\(\s*\{\s*(?:where:\s*\{\s*\}|truncate)|dropDatabase\("
    r"|\bflush(?:all|db)\(|\.drop\(\s*\)|->forceDelete\(|sync\(\s*\{\s*force:\s*true|synchronize\(true\)"
    r"|\.drop_collection\(|wipe\(\)|dropSchema\(|delete_index|indices\.delete\("
)
_ENDLESS = (
    r"(?:while\s*\(?\s*(?:True|true|1)\s*\)?|for\s*\(\s*;\s*;\s*\)|\bloop\s*(?:\{|do)|iter\(int\s*,|for\s*\{"
    r"|setInterval)"
)
_BOMB = lazy(
    _ENDLESS + r".{0,80}?\b(?:fork\b|\.append\(.{0,20}\*|\.push\(|spawn\(|Thread|\+=\s*['\"\w]+\s*\*)|fork\s+while"
    r"|fork while|fork\(\)[^)]{0,30}for\s+_?\w*\s+in\s+(?:iter|itertools\.count)|\*\s*10\s*\*\*\s*(?:9"
    r"|1\d)|while\s*\(?1\)?\s*[:{]?\s*fork",
    re.DOTALL,
)
_WRITES = lazy(
    r"['\"][wax]b?\+?['\"]|write_text|write_bytes|writeFile|appendFile|\.write\(|json\.dump\(|\bunlink|\bremove\b"
    r"|rename|file_put_contents|File\.(?:write|open|delete)|rmtree|rmSync|truncate|shutil|copyFile|Deno\.(?:write|remove)"
    r"|Bun\.write|open\s*\(?\s*\w*\s*,?\s*['\"]>|outputFile"
)
_READS = lazy(
    r"\bopen\b|\bread|File|fs\.|slurp|cat\b|<[A-Z$]|IO\.|fopen|Get-Content|input|scan\(|include|with_open|contents"
)
_ONLY_LOADED = lazy(
    r"(?:load_dotenv|dotenv_values|dotenv\.config|config\(\s*\{\s*path\s*:|exists\w*|isfile|is_file|existsSync|accessSync"
    r"|stat\w*|chmod|mkdir\w*|add_argument|print|console\.log|join)\s*\(?\s*\Z"
)
_RENAMED = lazy(r"browserWSEndpoint|debuggerAddress|connectOverCDP|browser_cookie3|pycookiecheat|keyring\.get_password")


_WORD = lazy(r"[a-z_]\w*")
_SEND_WORDS = frozenset(
    "requests httpx urllib urlopen axios net http https lwp fetch sendall send curl_init httparty faraday "
    "file_get_contents smtplib "
    "ftplib paramiko httpoison httpc req dns gethostbyname".split()
)
_SOCKET_WORDS = frozenset(
    "socket tcpsocket fsockopen net io inet gen_tcp tcpstream pty tcpserver create_connection connect "
    "browser_cookie3 pycookiecheat "
    "keyring browserwsendpoint debuggeraddress connectovercdp sys".split()
)
_ENVIRONMENT_WORDS = frozenset("environ env getenv _env _server get_env fetch_env".split())
_EVALUATE_WORDS = frozenset(
    "run eval exec function instance_eval compile assert loadstring load vm system source include getattr "
    "globals __import__ execsync "
    "runinthiscontext runinnewcontext command".split()
)
# One of these stands in everything that MODELS and _SQL find.
_EMPTYING = (
    "drop", "delete", "destroy", "truncate", "query", "flush", "sync", "wipe()",
)  # fmt: skip
_BOMB_WORDS = frozenset("fork append push spawn thread while loop iter".split())


def _may_name_a_file(value: str) -> bool:
    return ("." in value or "/" in value) and len(value) <= 200 and "\n" not in value and "://" not in value


class Risks:
    """Looks at one program text whose names and strings are in plain form."""

    def __init__(self, call: Call, text: str, language: str, literals: list[tuple[int, str]]) -> None:
        self.call = call
        self.text = text
        self.language = language
        self.literals = literals
        self.lowered = text.lower()
        self.words = set(_WORD.findall(self.lowered))

    def report(self) -> None:
        """Ask only the patterns of which a word stands in the text."""
        words = self.words
        sends = not words.isdisjoint(_SEND_WORDS) and _SEND.search(self.text) is not None
        if not words.isdisjoint(_SOCKET_WORDS):
            self._connections()
        if not words.isdisjoint(_ENVIRONMENT_WORDS):
            self._environment(sends=sends)
        self._paths(sends=sends)
        if not words.isdisjoint(_EVALUATE_WORDS):
            self._evaluated()
        self._databases()
        if not words.isdisjoint(_BOMB_WORDS) and _BOMB.search(self.text):
            self._act("system", "system.fork-bomb", "exhausts the machine without end", "deny")

    def _act(self, kind: str, rule: str, reason: str, decision: str = "ask") -> None:
        self.call.shell.effect(
            kind, self.call.words, rule=rule, decision=decision, reason=f"the {self.language} program {reason}"
        )

    def _effect(self, kind: str, note: str, host: str = UNKNOWN, path: str = "") -> None:
        self.call.shell.effect(kind, self.call.words, host=host, path=path, note=note)

    def _connections(self) -> None:
        if (_SOCKET.search(self.text) and _SHELL_END.search(self.text)) or "pty.spawn(" in self.text:
            self._effect("connect", "reverse-shell")
        elif re.search(
            r"\b(?:TCPSocket\.(?:new|open)|socket\.create_connection|fsockopen)\b|\.connect\(\s*\(", self.text
        ):
            self._effect("connect", "socket")
        if _RENAMED.search(self.text):
            self._effect("connect", "browser")

    def _environment(self, *, sends: bool) -> None:
        shows = _SHOW.search(self.text) is not None or self._prints()
        if (
            _WHOLE_ENVIRONMENT.search(self.text)
            and (sends or shows)
            and not re.search(r"Object\.keys\(process\.env\)\.length|len\(os\.environ\)", self.text)
        ):
            if sends:
                self._effect("upload", "environment")
            else:
                self.call.shell.effect("secret", self.call.words, note="environment")
        if not (shows or sends):
            return
        from fairlead.guard.packs.secrets import SECRET_WORD

        for match in _ONE_VARIABLE.finditer(self.text):
            if SECRET_WORD.search(match[1]) and not self._only_tested(match) and not self._authorises(match):
                self._act("secret", "secrets.show", f"shows or sends the value of {match[1]}")
                return

    def _prints(self) -> bool:
        return any(re.match(r"(?:-p|--print|-pe)\Z", arg) for arg in self.call.args[:2])

    def _only_tested(self, match: re.Match[str]) -> bool:
        before = self.text[max(0, match.start() - 30) : match.start()]
        return _ONLY_ASKED.search(before) is not None or _ONLY_TESTED.match(self.text, match.end()) is not None

    def _authorises(self, match: re.Match[str]) -> bool:
        """A key that a client or a header is given is used as it is meant to be."""
        before = self.text[max(0, match.start() - 60) : match.start()]
        return (
            re.search(
                r"(?:api_?key|token|auth\w*|password|Bearer)['\"]?\s*(?:=|:|=>|\}|\s)[^;,\n]*\Z", before, re.IGNORECASE
            )
            is not None
        )

    def _paths(self, *, sends: bool) -> None:
        from fairlead.guard.packs.secret_files import is_secret
        from fairlead.guard.packs.self import is_settings

        named = [(at, value) for at, value in self.literals if _may_name_a_file(value)]
        if not named:
            return
        writes = _WRITES.search(self.text) is not None
        reads = sends or _READS.search(self.text) is not None
        for at, value in named:
            home = self.call.shell.home if value[:1] == "~" and value[1:2] in ("", "/") else ""
            path = join(self.call.shell.cwd, home + value[1:] if home else value)
            if writes and is_settings(folded(path)):
                self._effect("write", "code", path=path)
            if reads and is_secret(path) and not _ONLY_LOADED.search(self.text[max(0, at - 40) : at]):
                self._effect("upload" if sends else "read", "code", path=path)

    def _evaluated(self) -> None:
        if _FETCH.search(self.text) and _EVALUATE.search(self.text):
            self.call.shell.effect("run", self.call.words, host=UNKNOWN, note="network")
        elif _DYNAMIC.search(self.text):
            self._act("unknown", "guard.unknown-program", "runs text that it makes itself")

    def _databases(self) -> None:
        if not mentions(self.lowered, *_EMPTYING):
            return
        if MODELS.search(self.text):
            self._act("drop", "databases.change", "deletes every record of a model or a collection")
        elif _SQL.search(self.text) and _DATABASE.search(self.text):
            self._act("drop", "databases.drop", "drops or empties database objects")
