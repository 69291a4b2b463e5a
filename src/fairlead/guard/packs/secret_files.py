"""Which files hold credentials."""

from __future__ import annotations

import re
from functools import lru_cache

from fairlead.guard._lazy import lazy
from fairlead.guard.paths import folded
from fairlead.guard.shell.nodes import ANY, STAR, UNKNOWN

_NAMES = lazy(
    r"(?:\.env(?:\.(?!example\Z|sample\Z|template\Z|tmpl\Z|dist\Z|defaults?\Z|schema\Z|test\Z|ci\Z|example\.)[\w.-]+)?"
    r"|[\w-]+\.env|\.?env\.(?:local|prod(?:uction)?|staging|secrets?)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?|[\w.-]+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|pkcs12|p8"
    r"|keychain|keychain-db)"
    r"|\.netrc|_netrc|\.pgpass|\.my\.cnf|\.pypirc|\.git-credentials|\.htpasswd|\.vault-token|\.boto|\.s3cfg"
    r"|\.dockercfg|\.npmrc"
    r"|(?:aws_|gcp_|google_)?(?:credentials?|client_secrets?|service[_-]?account[\w-]*)\.(?:json|ya?ml|xml|ini|toml"
    r"|txt|csv)|credentials"
    r"|secrets?\.(?:ya?ml|json|toml|env|txt|ini|properties)|[\w-]+[._-]secrets?\.(?:ya?ml|json|toml|env)|master\.key"
    r"|shadow-?|gshadow|sudoers|master\.passwd"
    r"|token(?:s)?\.(?:json|txt)|\.?passwords?(?:\.txt|\.csv)?|api[_-]?keys?(?:\.\w+)?|wallet\.dat|login data"
    r"|cookies(?:\.sqlite)?|logins\.json"
    r"|key[34]\.db|terraform\.tfstate(?:\.backup)?|[\w-]+\.auto\.tfvars|(?:secret|terraform|prod\w*)\.tfvars|kubeconfig|\.kube-config"
    r"|local\.settings\.json|appsettings\.(?:production|staging)\.json|wp-config\.php|[\w-]*firebase-adminsdk[\w-]*\.json"
    r"|credentials\.tfrc\.json|\.terraformrc|\.databrickscfg|\.snowflake|\.sentryclirc|\.msmtprc|\.fetchmailrc|\.mylogin\.cnf"
    r"|\.credentials\.json|cookies\.binarycookies|secrets\.tdb|ntds\.dit|\.env\.vault|\.envrc\.local|vault\.ya?ml|\.vault_pass"
    r"|[\w.-]*\.(?:ovpn|mobileprovision|keytab|kwallet|rdp)|krb5cc_\w+|database\.yml|signing\.properties|google-services\.json"
    r"|\.erlang\.cookie|\.irssi|\.rhosts|\.htdigest|settings\.xml|gradle\.properties"
    r"|oauth_creds\.json|auth\.json|hosts\.yml"
    r"|accesstokens\.json|application_default_credentials\.json|\.bash_history|\.zsh_history|\.mysql_history"
    r"|\.psql_history|\.python_history|environ)\Z"
)
_DIRECTORIES = lazy(
    r"/(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker/config\.json|\.password-store|\.oci|\.secrets|\.credentials|\.fly"
    r"|\.config/(?:gcloud\S*|gh|hub|op|rclone|doctl|heroku|stripe|sops|composer|glab-cli|ngrok|netlify|configstore|filezilla"
    r"|wireguard|solana|google-chrome|chromium|bravesoftware|microsoft-edge|vivaldi|opera|slack|discord|signal|element|exodus"
    r"|git/credentials|containers/auth\.json)"
    r"|\.gem/credentials|\.cargo/credentials(?:\.toml)?|\.terraform\.d/credentials\.tfrc\.json|\.claude/\.credentials\.json"
    r"|\.codex/auth\.json|\.gemini/oauth_creds\.json|\.mc/config\.json|\.snowsql|\.dbt/profiles\.yml|\.subversion/auth"
    r"|\.m2/settings(?:-security)?\.xml|\.vnc/passwd|\.near-credentials|\.foundry/keystores|\.thunderbird|\.mozilla/firefox"
    r"|library/(?:keychains|cookies|messages|mail|safari)|library/application support/(?:google/chrome"
    r"|firefox|bravesoftware|slack"
    r"|discord|com\.apple\.tcc|1password)|appdata/(?:local|roaming)/(?:google/chrome|mozilla|microsoft/(?:credentials|protect|edge))"
    r"|\.local/share/(?:keyrings|kwalletd|telegramdesktop|signal)|snap/firefox|\.electrum|\.bitcoin|\.ethereum|\.exodus|\.monero"
    r"|run/secrets|var/run/secrets|etc/(?:secrets|ssl/private|shadow|sudoers\.d|kubernetes|wireguard|letsencrypt/(?:live|archive)"
    r"|ssh/ssh_host_\w+_key|krb5\.keytab|rancher|openvpn)|var/lib/(?:samba/private|kubelet)|windows/system32/config)(?:/|\Z)"
    r"|/secrets/[^/]+\.(?:ya?ml|json|env|txt|key|toml)\Z"
)
_PUBLIC = lazy(
    r"(?:[^/]*\.pub|known_hosts(?:\.old)?|config\.d|kubectx|cache/.*|.*\.crt|public[\w-]*\.(?:pem|key|asc)"
    r"|.*ca(?:cert)?s?[\w.-]*\.pem|cacert\.pem|.*chain\.pem|cert\.pem|[\w.-]*(?:example|sample|template|fixture|mock"
    r"|dummy|public)[\w.-]*)\Z"
)
_PROCESS = lazy(r"/proc/(?:self|\d+|[^/]+)/environ\Z")
_PROJECT_ONLY_HOME = frozenset(
    {".npmrc", "hosts.yml", "auth.json", "cookies", "environ", "credentials", "shadow", "sudoers"}
)
_HOME_ONLY = frozenset({"settings.xml", "gradle.properties", "database.yml"})
_KNOWN_FILES = (
    ".env .env.local .env.production .netrc .pgpass .npmrc .pypirc .git-credentials .ssh/id_rsa .ssh/id_ed25519 "
    ".aws/credentials .kube/config .docker/config.json .config/gh/hosts.yml etc/shadow .gnupg/secring.gpg "
    "id_rsa id_ed25519"
).split()


_KNOWN_PARTS = [(known.split("/"), frozenset(known.rpartition("/")[2])) for known in _KNOWN_FILES]


def _glob_hits(plain: str) -> bool:
    """Say whether a name with wildcards can be one of the files that everybody knows."""
    parts = plain.split("/")
    letters = set(parts[-1]) - {STAR, ANY}
    for wanted, known_letters in _KNOWN_PARTS:
        if not letters <= known_letters:
            continue
        given = parts[-len(wanted) :]
        if len(given) == len(wanted) and all(map(_can_be, given, wanted)):
            return True
    return False


def _can_be(pattern: str, name: str) -> bool:
    """Match one name; a pattern with hardly a letter of its own stands for anything and counts for nothing."""
    if STAR not in pattern and ANY not in pattern:
        return pattern == name
    if len(pattern) - pattern.count(STAR) - pattern.count(ANY) < 2 or (name[0] == "." and pattern[0] != "."):
        return False
    head, *middle = pattern.split(STAR)
    if not _same(head, name[: len(head)]):
        return False
    rest = name[len(head) :]
    if not middle:
        return rest == ""
    for piece in middle[:-1]:
        at = next((at for at in range(len(rest) - len(piece) + 1) if _same(piece, rest[at : at + len(piece)])), -1)
        if at < 0:
            return False
        rest = rest[at + len(piece) :]
    last = middle[-1]
    return len(last) <= len(rest) and _same(last, rest[len(rest) - len(last) :])


def _same(piece: str, text: str) -> bool:
    if ANY not in piece:
        return piece == text
    return len(piece) == len(text) and all(one in (ANY, other) for one, other in zip(piece, text, strict=True))


# Most paths have nothing of this in them, and the long pattern need not be asked.
_HINTS = ("/.", "/etc/", "/run/", "library/", "appdata/", "secrets/", "var/lib/", "snap/", "system32/")


@lru_cache(1024)
def is_secret(path: str) -> bool:
    """Say whether a path names a file that holds credentials."""
    plain = folded(path)
    if STAR in plain or ANY in plain:
        if _glob_hits(plain):
            return True
        plain = plain.replace(STAR, "x").replace(ANY, "x")
    plain = plain.replace(UNKNOWN, "x")
    name = plain.rpartition("/")[2]
    if name == "environ" and _PROCESS.search(plain):
        return True
    held = any(hint in plain for hint in _HINTS) and _DIRECTORIES.search(plain) is not None
    if not held and _NAMES.match(name) is None:
        return False
    if _PUBLIC.match(name) and not name.startswith(".env"):
        return False
    return held or (_by_place(plain, name) and not _MADE_UP.search(plain))


_MADE_UP = lazy(r"/(?:fixtures?|testdata|test_data|__tests__|__mocks__|mocks?|examples?|samples?)/")


def _by_place(plain: str, name: str) -> bool:
    """Names that mean credentials in one place only."""
    if name in _HOME_ONLY:
        return re.search(r"/\.(?:m2|gradle)/|/config/", plain) is not None
    if name in _PROJECT_ONLY_HOME:
        return (name in ("shadow", "sudoers") and plain.startswith("/etc/")) or (
            name in (".npmrc", "credentials") and plain.count("/") <= 3 and "/home/" in plain
        )
    return True
