"""Keys and credentials: reading them, showing them, sending them, committing them."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads, verbs
from fairlead.guard.packs.secret_files import is_secret
from fairlead.guard.paths import Places, join
from fairlead.guard.programs.text import VARIABLE
from fairlead.guard.shell.nodes import STAR, UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.effects import Effect
    from fairlead.guard.shell.run import Call

    Hit = tuple[str, str, str, str]

SECRET_WORD = lazy(
    r"(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIAL|ACCESS_?KEY|_PAT\b|DATABASE_URL|AUTH_KEY)",
    re.IGNORECASE,
)
_LITERAL_SECRETS = lazy(
    r"AKIA[0-9A-Z]{16}|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{40,}"
    r"|xox[abprs]-[\w-]{20,}"
    r"|sk_live_[A-Za-z0-9]{20,}|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}|AIza[\w-]{35}|glpat-[\w-]{20}"
    r"|npm_[A-Za-z0-9]{36}|ya29\.[\w-]{30,}|SG\.[\w-]{22}\.[\w-]{43}"
)
_EXAMPLE = "read `.env.example`, or ask for the one value that is needed"


def judge(effect: Effect, places: Places) -> Hit | None:
    """Return the verdict on reading or sending a credential file."""
    if effect.rule or effect.place == "container":
        return None
    if effect.kind == "secret":
        return _hit(
            "secrets.environment",
            "ask",
            effect,
            "shows every environment variable, secrets included",
            "print the one variable that is needed",
        )
    if effect.kind == "upload" and effect.path:
        return _upload(effect, places)
    if effect.kind in ("read", "link") and effect.path:
        return _read(effect, places)
    return None


def _read(effect: Effect, places: Places) -> Hit | None:
    path = effect.path
    resolved = places.resolve("/", path)
    if not is_secret(path) and (resolved == path or not is_secret(resolved)):
        return None
    program, _, target = effect.note.partition(" ")
    if program == "copy" and places.inside(path) and places.inside(target) and effect.kind == "read":
        if re.search(r"/(?:public|static|www|htdocs|assets|dist|site|docs|wwwroot)(?:/|\Z)", target):
            return _hit("secrets.expose", "ask", effect, f"puts {shown(path)} where everybody can fetch it")
        return None
    if program == "handed" and places.inside(path) and _uses_it(effect.words):
        return None
    return _hit("secrets.read", "ask", effect, f"reads {shown(path)}, which holds credentials", _EXAMPLE)


def _uses_it(words: str) -> bool:
    """Formatters, linters and servers take the project's own settings."""
    return (
        re.match(r"(?:\S*/)?(?:sqlite3|base64|strings|xxd|file|perl|ruby|php|pastebinit|logger|tftp)\b", words) is None
    )


def _upload(effect: Effect, places: Places) -> Hit | None:
    if effect.path == "environment" or effect.note == "environment":
        return _hit("secrets.send", "deny", effect, "sends the environment, secrets included, to another machine")
    if is_secret(effect.path) or (effect.path.startswith("/") and is_secret(places.resolve("/", effect.path))):
        return _hit(
            "secrets.send",
            "deny",
            effect,
            f"sends {shown(effect.path)}, which holds credentials, to {shown(effect.host) or 'another machine'}",
        )
    return None


def _hit(rule: str, decision: str, effect: Effect, text: str, suggestion: str = "") -> Hit:
    return rule, decision, f"`{effect.words}` {text}", suggestion


@reads("git")
def _commit(call: Call) -> None:
    words = verbs(call, ("-C", "-c", "-m", "--message"))
    if words[:1] == ["add"]:
        for operand in words[1:]:
            if is_secret(join(call.shell.cwd, operand)):
                act(call, "secret", "secrets.commit", f"puts {operand}, which holds credentials, under version control",
                    "add it to .gitignore")  # fmt: skip
    if words[:1] == ["credential"] or words[:1] == ["credential-store"]:
        act(call, "secret", "secrets.show", "shows stored credentials")


@reads("env", "printenv", "set", "export", "declare", "typeset")
def _environment(call: Call) -> None:
    whole = call.name in ("env", "printenv") and not [a for a in call.args if a not in ("-0", "--null", "-u")]
    whole = (
        whole
        or (call.name == "export" and call.args in ([], ["-p"]))
        or (call.name in ("declare", "typeset") and call.args in (["-x"], ["-p"], ["-px"]))
    )
    if whole and not call.shell.piped:
        act(
            call,
            "secret",
            "secrets.environment",
            "shows every environment variable, secrets included",
            "print the one variable that is needed",
        )
    elif call.name == "printenv" and any(SECRET_WORD.search(arg) for arg in call.args):
        act(call, "secret", "secrets.show", "shows a secret from the environment")


_FILTERS = frozenset({"grep", "egrep", "rg"})
_PASSES_ON = frozenset({"sort", "uniq", "head", "cut", "tail", "wc"})


def _filter_before(call: Call) -> Call | None:
    """Return the nearest filter of this pipeline, the call itself included."""
    for other in reversed(call.shell.record.calls):
        if other.name in _FILTERS and other.stdin.origin == call.stdin.origin:
            return other
        if other is not call and other.name not in _PASSES_ON:
            return None
    return None


def _asks_for_secrets(call: Call) -> bool:
    """Say whether a filter keeps what looks like credentials, or leaves only some other lines out."""
    words = " ".join(call.args)
    kept = SECRET_WORD.search(words) or re.search(r"pass|key|aws|cred", words, re.IGNORECASE)
    return kept is not None or re.search(r"(?:\A|\s)(?:-\w*v|--invert)", words) is not None


@reads("grep", "egrep", "rg", "cat", "less", "sort", "tee", "head", "more")
def _filtered_environment(call: Call) -> None:
    if call.stdin.origin not in ("environment", "history"):
        return
    narrowed = _filter_before(call)
    if narrowed is not None and not _asks_for_secrets(narrowed):
        return
    act(
        call,
        "secret",
        "secrets.environment",
        "shows environment variables, secrets included",
        "print the one variable that is needed",
    )


@reads("curl", "wget", "http", "https", "nc", "ncat", "xh")
def _environment_sent(call: Call) -> None:
    if call.stdin.origin == "environment":
        act(
            call,
            "upload",
            "secrets.send",
            "sends the environment, secrets included, to another machine",
            decision="deny",
        )
    if call.stdin.secrets:
        act(
            call,
            "upload",
            "secrets.send",
            f"sends {shown(call.stdin.secrets[0])}, which holds credentials, to another machine",
            decision="deny",
        )
    _variable_sent(call)
    source = call.shell.record.substituted
    if source is not None and source.secrets and any(UNKNOWN in arg for arg in call.args):
        act(
            call,
            "upload",
            "secrets.send",
            f"sends {shown(source.secrets[0])}, which holds credentials, to another machine",
            decision="deny",
        )


_CREDENTIAL_HEADER = lazy(
    r"(?:authorization|proxy-authorization|private-token|job-token|x-[\w-]*(?:key|token|auth)[\w-]*|api-?key|apikey"
    r"|cookie|dd-\w+-key)\s*:",
    re.IGNORECASE,
)


def _variable_sent(call: Call) -> None:
    """A secret from a variable: fine in a header that is made for it, on an encrypted line."""
    names = [name for name in call.shell.record.names if SECRET_WORD.search(name)]
    if not names:
        return
    opts = options(
        call.args, short="AbcCdDeEFHhKmoPQrTtuUwxXyYz", long=("header", "user", "data", "request", "oauth2-bearer")
    )
    urls = " ".join(opts.operands)
    encrypted = "https://" in urls or re.search(r"localhost|127\.0\.0\.1|\0", urls) is not None
    carriers = opts.values("u", "user", "oauth2-bearer") + [
        v for v in opts.values("H", "header") if _CREDENTIAL_HEADER.match(v)
    ]
    others = [arg for arg in call.args if UNKNOWN in arg and arg not in carriers]
    if [arg for arg in others if arg not in opts.operands or arg != UNKNOWN] or (carriers and not encrypted):
        act(call, "upload", "secrets.send", f"sends the value of {names[0]} to another machine")


_SHOWING = {
    ("security", "find-generic-password"), ("security", "find-internet-password"), ("security", "dump-keychain"),
    ("security", "export"),
    ("security", "find-certificate"), ("gh", "auth token"), ("gcloud", "auth print-access-token"), ("gcloud",
    "auth print-identity-token"),
    ("gcloud", "auth application-default print-access-token"), ("az", "account get-access-token"), ("aws",
    "secretsmanager get-secret-value"),
    ("aws", "configure export-credentials"), ("aws", "sts get-session-token"), ("aws", "iam create-access-key"),
    ("aws", "sts assume-role"),
    ("aws", "kms decrypt"), ("aws", "secretsmanager batch-get-secret-value"), ("vault", "kv get"), ("vault", "read"),
    ("vault", "print token"), ("vault", "token create"),
    ("pass", "show"), ("pass", "ls -c"), ("op", "read"), ("op", "item get"), ("bw", "get"), ("bw", "export"), ("bw",
    "list"), ("lpass", "show"), ("lpass", "export"),
    ("gopass", "show"), ("heroku", "config"), ("heroku", "config:get"), ("heroku", "auth:token"), ("doppler",
    "secrets"), ("flyctl", "auth token"), ("fly", "auth token"),
    ("secret-tool", "lookup"), ("secret-tool", "search"), ("keyring", "get"), ("kwallet-query", ""), ("chamber",
    "read"), ("chamber", "export"),
    ("az", "keyvault secret show"), ("gcloud", "secrets versions access"), ("infisical", "secrets"), ("infisical",
    "export"), ("sops", "-d"), ("sops", "--decrypt"), ("sops", "decrypt"),
    ("ansible-vault", "view"), ("ansible-vault", "decrypt"), ("npm", "token create"), ("npm", "token list"),
    ("git-crypt", "export-key"), ("gpg", "--export-secret-keys"),
    ("gpg", "--export-secret-key"), ("gpg", "--export-secret-subkeys"), ("docker-credential-desktop", "get"),
    ("docker-credential-osxkeychain", "get"), ("firebase", "login:ci"),
    ("vercel", "env pull"), ("netlify", "env:list"), ("rails", "credentials:show"), ("kubeseal", "--recovery-unseal"),
    ("age", "-d"), ("age", "--decrypt"),
    ("bundle", "exec rails credentials:show"), ("railway", "variables"), ("supabase", "secrets list"), ("tailscale",
    "cert"), ("mimikatz", ""), ("lazagne", ""), ("gitleaks-dump", ""),
    ("secretsdump.py", ""), ("hashdump", ""), ("unshadow", ""), ("keychain-dump", ""), ("pypykatz", ""), ("kubectl",
    "get secret"), ("kubectl", "get secrets"), ("oc", "get secret"),
    ("kubectl", "config view"), ("kubectl", "describe secret"), ("kubectl", "get secrets"), ("consul", "kv export"),
}  # fmt: skip
_SHOWING_BY_PROGRAM: dict[str, list[str]] = {}
for _program, _words in _SHOWING:
    _SHOWING_BY_PROGRAM.setdefault(_program, []).append(_words)


@reads(*_SHOWING_BY_PROGRAM)
def _show(call: Call) -> None:
    words = (
        " ".join(
            [arg for arg in call.args if not arg.startswith("-")]
            if call.name not in ("gpg", "sops", "age", "kubeseal")
            else call.args
        )
        + " "
    )
    for wanted in _SHOWING_BY_PROGRAM[call.name]:
        if (
            words.startswith(wanted + " ")
            or not wanted
            or (call.name in ("gpg", "sops", "age") and wanted + " " in words)
        ) and not _harmless(call, wanted):
            act(call, "secret", "secrets.show", "shows stored credentials")
            return


def _harmless(call: Call, wanted: str) -> bool:
    text = " ".join(call.args)
    if wanted.startswith("get secret"):
        return not re.search(
            r"-o[= ]?(?:json|ya?ml|go-template|jsonpath|custom)|--output|--template|-ojson|-oyaml", text
        )
    if wanted == "config view":
        return "--raw" not in call.args
    return wanted in ("config", "secrets", "variables", "etcdctl get") and bool(
        re.search(r":set|set|delete|unset", text.split(" ", 1)[-1])
    )


@reads("aws")
def _ssm(call: Call) -> None:
    if "ssm" in call.args[:3] and "--with-decryption" in call.args:
        act(call, "secret", "secrets.show", "shows decrypted parameters")


@reads("pbpaste", "wl-paste", "xclip", "xsel")
def _clipboard(call: Call) -> None:
    if call.name in ("pbpaste", "wl-paste") or options(call.args).has("o", "output", "out") or "-o" in call.args:
        act(call, "secret", "secrets.clipboard", "reads the clipboard, which may hold a password")


def _shows(call: Call, name: str) -> None:
    act(call, "secret", "secrets.show", f"shows the value of {name}", 'test whether it is set: `[ -n "$NAME" ]`')


@reads(*"cat base64 base32 xxd od hexdump hd tee less more rev tr sed awk head tail nl fold cut tac strings jq".split())
def _piped_value(call: Call) -> None:
    """A value that is piped into a program which prints it; ``docker login --password-stdin`` only uses it."""
    name = call.stdin.origin.removeprefix(VARIABLE)
    last = not call.shell.piped
    if call.stdin.origin.startswith(VARIABLE) and last and SECRET_WORD.search(name):
        _shows(call, name)


@reads("echo", "printf")
def _echo(call: Call) -> None:
    named = [name for name in call.shell.record.names if SECRET_WORD.search(name)]
    if "${!}" in call.shell.record.names and any(UNKNOWN in arg for arg in call.args):
        act(call, "secret", "secrets.environment", "shows variables whose names come from the environment")
    if named and not call.shell.piped and any(UNKNOWN in arg for arg in call.args):
        _shows(call, named[0])
    if _LITERAL_SECRETS.search(" ".join(call.args)):
        act(
            call,
            "secret",
            "secrets.literal",
            "writes a credential out in clear text",
            "keep it in a secret store or an ignored file",
        )


@reads("ps", "sqlite3", "sqlite")
def _others(call: Call) -> None:
    if call.name == "ps":
        if any(re.match(r"[a-df-z]*e[a-z]*w*\Z", arg) and not arg.startswith("-") for arg in call.args[:1]):
            act(call, "secret", "secrets.environment", "shows the environment of every process")
        return
    for operand in options(call.args, long=("cmd", "separator", "init")).operands[:1]:
        call.shell.effect("read", call.words, path=join(call.shell.cwd, operand))


@reads("openssl")
def _openssl(call: Call) -> None:
    for index, arg in enumerate(call.args[:-1]):
        if arg in ("-in", "-inkey", "-key", "-keyin") and call.args[0] in (
            "rsa",
            "pkey",
            "ec",
            "enc",
            "pkcs12",
            "pkcs8",
            "base64",
            "dsa",
        ):
            call.shell.effect("read", call.words, path=join(call.shell.cwd, call.args[index + 1]))


_WIDE_ROOT = lazy(r"(?:/|~|/home|/root|/etc|/Users)/?\Z")


@reads("find", "fd", "locate", "grep", "rg", "egrep")
def _search(call: Call) -> None:
    """Looking for credentials on the whole machine."""
    roots = [arg for arg in call.args if _WIDE_ROOT.match(arg) or arg.rstrip("/") == call.shell.home]
    wanted = [
        arg
        for arg in call.args
        if arg not in roots
        and (
            is_secret("/x/" + arg.strip("*" + STAR))
            or re.search(r"PRIVATE KEY|BEGIN RSA|AKIA|passw|secret|api_?key", arg, re.IGNORECASE)
        )
    ]
    if (roots or call.name == "locate") and wanted:
        act(call, "secret", "secrets.search", "looks for credentials all over this machine")


@reads("find")
def _setuid_search(call: Call) -> None:
    if re.search(r"-perm\s+[-/](?:[246]000|[ug]\+?=?s)", " ".join(call.args)) and any(
        _WIDE_ROOT.match(arg) for arg in call.args
    ):
        act(call, "secret", "secrets.search", "looks for programs through which one becomes root")


@reads("ssh-keygen", "ssh-add", "ssh-copy-id")
def _keys(call: Call) -> None:
    if call.name == "ssh-add" and options(call.args).has("D", "d"):
        act(call, "secret", "secrets.keys", "removes keys from the agent")
    if call.name == "ssh-copy-id":
        act(call, "secret", "secrets.keys", "lets a key of this machine into another one")


def literal_secret(text: str) -> str:
    """Return a credential that stands in a text, shortened, or ""."""
    match = _LITERAL_SECRETS.search(text)
    return match[0][:8] + "…" if match else ""
