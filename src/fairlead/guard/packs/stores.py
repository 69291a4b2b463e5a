"""Credential stores of tools, and credentials that any program is handed by name."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.packs import act, reads, searchable
from fairlead.guard.packs.secret_files import is_secret
from fairlead.guard.packs.secrets import SECRET_WORD
from fairlead.guard.paths import join
from fairlead.guard.programs import PROGRAMS
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

# By program: what its arguments must look like to print credentials.
_PRINTS: dict[str, str] = {
    "gh": r"\A(?:auth status .*(?:-t\b|--show-token)|auth token|secret list .*--json)",
    "glab": r"\A(?:auth status .*(?:-t\b|--show-token)|config get .*token|variable (?:get|export))",
    "aws": r"configure get \S*(?:secret|token|key)|codeartifact get-authorization-token"
    r"|rds generate-db-auth-token|eks get-token|ssm get-parameters?\b.*decryption",
    "gcloud": (
        r"auth (?:application-default )?print-(?:access|identity)-token|iam service-accounts keys create"
        r"|sql generate-login-token"
    ),
    "az": r"account get-access-token|storage account keys list|keyvault secret (?:show|download)|acr credential show"
    r"|ad sp create-for-rbac|webapp config appsettings list|cosmosdb keys list|redis list-keys",
    "keyctl": r"(?:print|pipe|read)\b",
    "pulumi": r"--show-secrets|config get .*(?:secret|token|password|key)",
    "terraform": (
        r"output\b.*(?:secret|token|passw|private|credential|api_?key|access_?key)|state pull"
        r"|show -json(?!\s+\S)"
    ),
    "tofu": r"output\b.*(?:secret|token|passw|private|credential)|state pull",
    "dotnet": r"user-secrets list|dev-certs https .*(?:-ep|--export)",
    "npm": r"config (?:get|list|ls).*(?:_auth|token|-l\b)|get \S*_auth|token (?:create|list)",
    "yarn": r"config get .*(?:auth|token)",
    "pnpm": r"config get .*(?:auth|token)",
    "poetry": r"config (?:--list|\S*(?:token|password|http-basic)\S*)\s*\Z",
    "pip": r"config (?:list|debug|get .*(?:url|password))\s*\Z(?<!debug)",
    "composer": r"config .*(?:auth|token|http-basic)\S*\s*\Z",
    "git": r"config .*(?:extraheader|credential\.\S*(?:password|token)|--get-regexp .*(?:token|auth|http))",
    "docker": r"inspect\b.*(?:\.Env|Config\.Env)|secret inspect",
    "helm": r"get (?:values|all|manifest)\b.*(?:-a\b|--all)",
    "kubectl": r"config view .*--raw|get secrets? .*-o|create token",
    "fly": r"ssh console .*(?:printenv|\benv\b)|tokens create|auth token",
    "flyctl": r"ssh console .*(?:printenv|\benv\b)|tokens create|auth token",
    "rails": r"credentials:(?:show|edit)|encrypted:show",
    "heroku": r"config(?::get)?\b(?!:(?:set|unset))|auth:token|pg:credentials:url",
    "security": r"find-(?:generic|internet)-password|dump-keychain|export\b|delete-\w+|unlock-keychain",
    "nmcli": r"(?:-s|--show-secrets)\b|wifi show-password",
    "netsh": r"wlan .*key=clear",
    "cmdkey": r"/list",
    "vaultcmd": r".",
    "reg": r"save .*\b(?:sam|system|security)\b|query .*(?:winlogon|password)",
    "ssh-keygen": r"-y\b|-p\b",
    "ansible-inventory": r"--list.*--vault",
    "wrangler": r"secret list|config",
    "vercel": r"env pull",
    "netlify": r"env:(?:get|list)",
    "firebase": r"login:ci|functions:config:get",
    "supabase": r"(?:secrets|projects) (?:list|api-keys)",
    "stripe": r"config --list",
    "doctl": r"auth (?:token|list)|databases connection",
    "tailscale": r"debug.*key",
    "consul": r"acl token|kv export",
    "nomad": r"acl token|var get",
    "vault": r"(?:kv get|read|print token|token create|token lookup)",
    "conjur": r"variable get|variable value",
    "akeyless": r"get-secret-value",
    "cloudflared": r"access token",
    "argocd": r"admin initial-password|account generate-token",
    "eksctl": r"utils write-kubeconfig",
    "minikube": r"\Z.",
    "podman": r"inspect\b.*\.Env|secret inspect .*showsecret",
    "lxc": r"\Z.",
    "wg": r"show\b.*(?:private|preshared)|showconf",
    "osascript": r"hidden answer|password|keychain",
    "tdbdump": r".",
    "smbpasswd": r".",
    "pdbedit": r"-w|-L",
    "dbt": r"debug --config-dir",
    "snowsql": r"\Z.",
    "chezmoi": r"data|execute-template",
    "mimikatz": r"",
    "gpg": r"--export-secret|-d\b|--decrypt",
    "age": r"-d\b|--decrypt",
    "op": r"(?:read|item get|document get)\b|--reveal",
    "bw": r"(?:get|export|list)\b",
    "lastpass": r"(?:show|export)",
    "keepassxc-cli": r"(?:show|export|clip)",
    "pass": r"(?:show|-c|grep)\b|\A\S+/\S+\Z",
}


@reads(*_PRINTS)
def _prints(call: Call) -> None:
    text = searchable(call.args)
    pattern = _PRINTS[call.name]
    if re.search(pattern, text, re.IGNORECASE) and not re.search(r"(?:\A|\s)(?:--help|-h|--version)(?:\s|\Z)", text):
        act(call, "secret", "secrets.show", "shows stored credentials")


_HINT = lazy(
    r"/\.|(?:\A|[=@])\.\w|[sS]ecret|[cC]red|shadow|id_|environ|passw|token|\.(?:pem|key|p12|pfx|jks|kdbx|asc|gpg|tdb|tfstate)\Z|/etc/|Library/"
)
# They look at names and rights, use the file as what it is, or have readers of their own.
_OWN_READERS = frozenset(
    "ls stat test [ [[ touch mkdir rmdir chmod chown chgrp rm mv unlink tree exa eza lsd ssh ssh-add "
    "ssh-keygen ssh-copy-id "
    "ssh-agent ssh-keyscan mosh autossh git gh export source . direnv dotenv dotenvx node nodemon tsx bun "
    "deno docker docker-compose "
    "podman kubectl helm terraform tofu ansible ansible-playbook openssl keytool gpg echo printf pwd cd "
    "pushd find fd locate "
    "sudo doas env xargs nohup time command exec which type readlink realpath basename dirname du df "
    "lsattr getfacl setfacl "
    "code subl cursor open xdg-open gunicorn uvicorn foreman honcho overmind pm2 sops age vault flask make "
    "just shred trash "
    "psql mysql mongosh aws-vault chezmoi stow certbot mkcert step kubeseal pre-commit gitleaks trufflehog "
    "detect-secrets "
    "git-crypt redis-cli valkey-cli export set unset declare typeset local alias read watch inotifywait "
    "entr shellcheck dotenv-linter vercel "
    "wg wg-quick virtualenv python python3 vagrant eksctl az gcloud firebase wrangler prisma".split()
)
_TAKES_FILE = lazy(
    r"--?(?:env[-_]?file\w*|env|identity\w*|i|private-key|key\w*|cert\w*|cacert|ca\w*|kubeconfig|config|credentials?-?file"
    r"|service-account\w*|ssh-key|vault-password-file|var-file|pem|tls\w*|netrc\w*|secret\w*|o|out\w*|passphrase-file)\Z"
)
_PREFIX = lazy(r"(?:[\w.-]+=|[\w-]*@|file://|path=|<)+")


def handed_over(call: Call) -> None:
    """Report credential files among the arguments of a program that has no reader of its own."""
    name = call.name
    if name in _OWN_READERS or (name in PROGRAMS and not name.startswith(("perl", "ruby", "php", "file"))):
        return
    previous = ""
    for arg in call.args:
        option, previous = previous, arg
        if (
            ("/" not in arg and "." not in arg)
            or len(arg) > 300
            or not _HINT.search(arg)
            or _TAKES_FILE.match(option)
            or " " in arg
        ):
            continue
        value = arg
        if arg.startswith("-"):
            head, equals, value = arg.partition("=")
            if not equals or _TAKES_FILE.match(head):
                continue
        path = join(call.shell.cwd, re.sub(r"\A~(?=/|\Z)", call.shell.home, _PREFIX.sub("", value, count=1)))
        if is_secret(path) and not path.startswith(UNKNOWN):
            call.shell.effect("read", call.words, path=path, note="handed")


@reads(
    *(
        "sftp ftp lftp tftp ncftp ncftpput ftpput smbclient gdrive rclone azcopy gsutil s3cmd s5cmd mc b2 "
        "gcloud aws az pastebinit slack-cli slack telegram-send logger socat curl dropbox_uploader.sh megaput "
        "cadaver swift oci mutt xh http https wormhole wget"
    ).split()
)
def _clients(call: Call) -> None:
    """Files that a client is told to send, in its arguments or in the text of its session."""
    texts = [arg for arg in call.args if " " in arg or "@" in arg[:1]]
    texts.append(call.stdin.text or "")
    words = [word.strip(";'\"@") for text in texts for word in text.split()]
    words += call.args if call.name not in ("curl", "wget", "xh", "http", "https", "socat") else []
    for word in words:
        if not _HINT.search(word) and not word.startswith(("~", "/home")):
            continue
        path = join(call.shell.cwd, re.sub(r"\A~(?=/|\Z)", call.shell.home, _PREFIX.sub("", word, count=1)))
        if is_secret(path) or re.fullmatch(rf"{re.escape(call.shell.home)}(?:/\.config)?", path):
            call.shell.effect("upload", call.words, path=path, host=UNKNOWN, note="file")
            return


@reads("docker", "podman", "kubectl", "oc")
def _copied_out(call: Call) -> None:
    """Credential files taken out of a container."""
    if "cp" not in call.args[:2]:
        return
    for arg in call.args:
        inside = arg.partition(":")[2]
        if inside.startswith("/") and is_secret(inside):
            act(call, "secret", "secrets.show", f"takes {inside}, which holds credentials, out of a container")


@reads("git")
def _versions(call: Call) -> None:
    """Credential files in older versions."""
    words = [arg for arg in call.args if not arg.startswith("-")]
    shows = words[:1] in (["show"], ["cat-file"], ["log"], ["diff"], ["blame"], ["archive"])
    patch = words[:1] != ["log"] or any(re.match(r"-p\Z|--patch|-S|-G|-u\Z|--full-diff", arg) for arg in call.args)
    if not (shows and patch):
        return
    for word in words[1:]:
        path = word.partition(":")[2] or (word if words[0] != "show" else "")
        if path and is_secret(join(call.shell.cwd, path)):
            act(call, "secret", "secrets.show", f"shows {path}, which holds credentials, from the history")
            return


@reads("jq", "yq", "grep", "rg", "egrep")
def _filtered(call: Call) -> None:
    """A secret picked out of what another program prints."""
    if call.stdin.origin == "outputs" and any(SECRET_WORD.search(arg) for arg in call.args):
        act(call, "secret", "secrets.show", "picks credentials out of another program's output")


_VENDORS = {
    "anthropic": ("anthropic",),
    "openai": ("openai", "azure"),
    "github": ("github",),
    "gh": ("github",),
    "gitlab": ("gitlab",),
    "stripe": ("stripe",),
    "slack": ("slack",),
    "npm": ("npmjs", "npm."),
    "aws": ("amazonaws", "aws"),
    "hf": ("huggingface",),
    "huggingface": ("huggingface",),
    "google": ("google",),
    "gemini": ("google",),
    "sendgrid": ("sendgrid",),
    "twilio": ("twilio",),
    "cloudflare": ("cloudflare",),
    "digitalocean": ("digitalocean",),
    "heroku": ("heroku",),
    "vercel": ("vercel",),
    "pypi": ("pypi",),
}


@reads("curl", "wget", "http", "https", "xh")
def _foreign_host(call: Call) -> None:
    """A key of one company that is sent to another."""
    from fairlead.guard.programs.network import host_of, is_local

    urls = [arg for arg in call.args if re.match(r"https?://", arg)]
    for name in call.shell.record.names:
        wanted = _VENDORS.get(name.lower().partition("_")[0])
        if wanted is None or not SECRET_WORD.search(name) or not urls:
            continue
        host = host_of(urls[0])
        if not is_local(host) and UNKNOWN not in host and not any(part in host for part in wanted):
            act(call, "upload", "secrets.send", f"sends the value of {name} to {host}")
            return
