"""Where a text holds a credential: well-known forms, and values that stand where only a secret does.

RE2 takes linear time whatever the text is: what is looked through was written by strangers.
"""

from __future__ import annotations

from fairlead import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Span = tuple[int, int]

_KNOWN = (
    r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",  # Amazon
    r"gh[pousr]_[A-Za-z0-9]{10,}", r"github_pat_\w{16,}", r"gl[a-z]{2,6}-[\w.-]{15,}",
    r"xox[a-z]-[\w-]{10,}", r"xoxe\.[\w.-]{10,}", r"xapp-\d-[\w-]{10,}",
    r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}", r"whsec_[A-Za-z0-9+/=]{16,}",
    r"sk-[A-Za-z0-9_-]{20,}", r"AIza[\w-]{20,}", r"ya29\.[\w-]{16,}", r"GOCSPX-[\w-]{16,}", r"1//0[\w-]{20,}",
    r"npm_[A-Za-z0-9]{16,}", r"pypi-[\w-]{20,}", r"rubygems_[a-f0-9]{20,}", r"dckr_(?:pat|oat)_[\w-]{16,}",
    r"SG\.[\w-]{10,}\.[\w-]{10,}", r"key-[0-9a-f]{32}", r"[0-9a-f]{32}-us\d{1,2}", r"(?:AC|SK)[a-f0-9]{32}",
    r"hf_[A-Za-z0-9]{16,}", r"r8_[A-Za-z0-9]{16,}", r"gsk_[A-Za-z0-9]{16,}", r"xai-[A-Za-z0-9]{16,}",
    r"pplx-[A-Za-z0-9]{16,}", r"nvapi-[\w-]{16,}",
    r"do[opr]_v1_[a-f0-9]{16,}", r"shp[a-z]{2}_[a-fA-F0-9]{16,}", r"sq0[a-z]{3}-[\w-]{16,}", r"EAAA[\w-]{40,}",
    r"hv[sbr]\.[\w-]{16,}", r"dapi[a-f0-9]{32}", r"PMAK-[a-f0-9-]{20,}", r"lin_(?:api|oauth)_[A-Za-z0-9]{16,}",
    r"ntn_[A-Za-z0-9]{16,}", r"secret_[A-Za-z0-9]{32,}", r"figd_[\w-]{16,}", r"tskey-[a-z]+-[\w-]{10,}",
    r"gls?[ac]_[A-Za-z0-9_+/=]{20,}", r"NRAK-[A-Z0-9]{16,}", r"sntry[su]_[\w=+/-]{20,}", r"ATATT[\w=+/-]{20,}",
    r"ATBB[A-Za-z0-9]{20,}", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{20,}", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}", r"PuTTY-User-Key",
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?(?:\.[\w-]*)*",  # a JSON Web Token
    r"(?:bot)?\d{8,10}:AA[\w-]{30,}", r"[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
)  # fmt: skip
_HASHES = r"\$(?:2[aby]|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|[156y]|apr1)\$[\w./$=,+-]{20,}"
_HOOK_ADDRESSES = (
    r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks"
    r"|[\w.-]+\.webhook\.office\.com|outlook\.office\.com/webhook)/(?P<v>[\w/@.=-]{10,})"
)
_PEM = (
    r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:\s|\\[nr])*(?P<v>.*?)(?:\s|\\[nr])*"
    r"(?:-----END [A-Z0-9 ]*-----|\z)"
)

_START = r"(?:\b|\\[nrtbf])"
"""Of a word, also behind a line end that JSON has escaped."""
_QUOTE = r"""\\*["'`]?"""
_WORDS = (
    r"(?:secret|token|passw(?:or)?d|passphrase|passcode|pwd|credentials?|cookie|api[_-]?key|connection[_-]?string"
    r"|(?:private|access|secret|signing|encryption|account|auth|master|storage|session|service|license|deploy|webhook"
    r"|client|shared)[_-]?key)"
)
_NAME = rf"(?:[\w.-]*{_WORDS}[\w.-]*|(?:[\w.-]*[_.-])?(?:pat|otp|auth|dsn|pass)(?:[_.-][\w.-]*)?)"
_VALUE = (
    r"""(?:\\+"(?P<a>[^"\\]+)|"(?P<b>(?:[^"\\]|\\.)+)|\\*'(?P<c>[^'\\]+)|`(?P<d>[^`]+)"""
    r"""|(?P<e>[^\s"'`,;&|<>(){}\[\]\\]+))"""
)
_NAMED = rf"(?i){_START}(?P<n>{_NAME}){_QUOTE}\]?[ \t]*(?:=>|:=|[:=])[ \t]*{_VALUE}"
_OPTION = rf"(?i)(?:^|[\s\"']|\\[nrt])--?(?P<n>{_NAME})[ \t]+{_VALUE}"
_HEADER = (
    rf"(?i){_START}(?:proxy-)?authorization{_QUOTE}\s*[:=]\s*{_QUOTE}(?:(?:bearer|basic|digest|token|key|apikey|negotiate|ntlm"
    r"|aws4-hmac-sha256|vapid)\s+)?(?P<v>[^\"'`\\\n\r]{3,})"
)
_COOKIE = rf"(?i){_START}(?:set-)?cookie{_QUOTE}\s*:\s*{_QUOTE}(?P<v>[^\"'`\\\n\r]{{6,}})"
_BEARER = rf"(?i){_START}bearer\s+(?P<e>[\w.~+/=-]{{8,}})"
_USERINFO = r"(?i)\b[a-z][a-z0-9+.-]*://[^\s:/@\"'`<>]*:(?P<e>[^\s\"'`/<>]+)@"
_CUT_USERINFO = r"(?i)\b[a-z][a-z0-9+.-]*://[^\s:/@\"'`<>]*:(?P<e>[^\s\"'`/<>@]{6,})\z"
"""Where somebody has shortened the text."""
_LONE_USER = r"(?i)\b[a-z][a-z0-9+.-]*://(?P<u>[^\s:/@\"'`<>]{12,})(?::x-oauth-basic)?@"
_QUERY = (
    r"(?i)[?&#;](?P<n>key|sig|signature|code|auth|k|x-amz-signature|x-amz-credential|x-goog-signature|sv?c?token"
    rf"|[\w.-]*{_WORDS}[\w.-]*)=(?P<e>[^\s&\"'`#<>;]+)"
)
_PROGRAMS = (
    rf"{_START}(?:curl|wget|http|https|xh)\b[^|\n]*?\s(?:-u|--user|--proxy-user|-U)[\s=]*{_QUOTE}[^\s:\"']*:(?P<v>[^\s\"']+)",
    rf"{_START}(?:mysql|mysqldump|mysqladmin|mariadb)\b[^|;\n]*?\s-p(?P<e>[^\s\"']{{3,}})",
    rf"{_START}sshpass\s+-p\s*{_QUOTE}(?P<v>[^\s\"']+)",
    rf"{_START}redis-cli\b[^|;\n]*?\s-a\s+{_QUOTE}(?P<v>[^\s\"']+)",
    rf"{_START}(?:docker|podman|helm|oc|az|skopeo|buildah)\b[^|;\n]*?\blogin\b[^|;\n]*?\s-p\s*{_QUOTE}(?P<e>[^\s\"']{{3,}})",
    rf"{_START}login\s+\S+\s+password\s+(?P<v>\S+)", rf"{_START}pass:(?P<v>[^\s\"']{{3,}})",
    rf"{_START}htpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+(?P<v>[^\s\"']+)", rf"{_START}IDENTIFIED\s+BY\s+'(?P<v>[^']+)",
)  # fmt: skip

_HARMLESS_NAME = (
    r"(?i)(?:(?:[\w.-]*[_.-])?tokens|tokeni[sz]\w*|secretary|passwordless\w*|token[_-]?(?:count|limit|usage|budget)|\w*"
    r"[_.-](?:file|path|name|id|ids|env|type|length|count|policy|url|uri|endpoint|stdin|class|field|var|header|hash"
    r"|ttl|expiry|expires|age|mode|manager|store|helper))\z"
)
_HARMLESS_VALUES = frozenset(
    "true false null none nil undefined yes no on off str string int bool bytes any optional required missing invalid"
    " expired wrong must is was has have are should not the a an for from and or to in of with this that it set unset"
    " empty unknown hidden redacted masked changeme stdin".split()
)
_HINTS = (
    r"(?i)secret|token|pass|pwd|key|cookie|credential|auth|bearer|connection|identified|pat|dsn|otp|://|-[pua]"
    r"|[\w.$-]{16}"
)
_SHORTEST = 6
_PLACEHOLDER = r"(?:\$(?:[A-Za-z_({@*]|\d*\z)|<|\{|%[({]|\*+\z|\.{3}|…|\.\.\.|[xX*.•-]+\z|.{0,3}…\(\d+\))"


def is_worth_it(text: str) -> bool:
    """A quick look, which most texts do not pass."""
    import re2

    return len(text) >= _SHORTEST and re2.search(_HINTS, text) is not None


def secrets(text: str) -> Iterator[Span]:
    """Where each begins and ends; they may overlap."""
    for pattern in _patterns():
        for found in pattern.finditer(text):
            span = _value(found)
            if span is not None:
                yield span


_COMPILED: list[Any] = []


def _patterns() -> list[Any]:
    import re2

    if not _COMPILED:
        known = rf"{_START}(?P<v>{'|'.join(_KNOWN)})"
        rules = (known, rf"(?P<v>{_HASHES})", _HOOK_ADDRESSES, _PEM, _HEADER, _COOKIE, _NAMED, _OPTION, _BEARER,
                 _USERINFO, _CUT_USERINFO, _LONE_USER, _QUERY, *_PROGRAMS)  # fmt: skip
        _COMPILED.extend(map(re2.compile, rules))
    return _COMPILED


def _value(found: Any) -> Span | None:
    import re2

    groups = found.groupdict()
    name = next((key for key in "vabcdeu" if groups.get(key)), "")
    if not name:
        return None
    value: str = groups[name]
    span: Span = found.span(found.re.groupindex[name])
    if name == "v":
        return None if re2.match(_PLACEHOLDER, value) else span
    if name == "u":
        return span if is_distinct(value) else None
    bare = name == "e"
    if not may_be_secret(groups.get("n") or "", value, bare=bare) or (
        bare and found.string[span[1] :][:1] in ("(", "[")
    ):
        return None
    return span


def may_be_secret(name: str, value: str, *, bare: bool = False) -> bool:
    """Whether a value of this name is worth hiding; `bare`: it stands without quotes, as words of a sentence do."""
    import re2

    if len(value) < (4 if bare else 3) or value.lower() in _HARMLESS_VALUES or re2.match(_PLACEHOLDER, value):
        return False
    if name and (re2.fullmatch(_HARMLESS_NAME, name) or (name.lower().endswith("pwd") and value.startswith("/"))):
        return False
    if value.isdecimal() and "pass" not in name.lower() and "pwd" not in name.lower():
        return False
    return not (name.lower() in ("auth", "pat", "pass", "cookie", "cookies", "otp", "credentials") and value.isalpha())


def is_secret_name(name: str) -> bool:
    import re2

    name = name.encode("utf-8", "replace").decode()  # JSON can hold half characters, and re2 takes none
    if not re2.fullmatch(rf"(?i){_NAME}|[\w.-]*authorization", name):
        return False
    return re2.fullmatch(_HARMLESS_NAME, name) is None


def is_distinct(value: str) -> bool:
    """Unlike any word: it is a secret wherever it stands."""
    return len(value) >= 10 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and " " not in value


def readable(text: str) -> str:
    """RE2 takes no half characters."""
    return text if text.isascii() else wire.mended(text)
