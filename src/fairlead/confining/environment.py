"""Which variables a hook inherits, where it does not get all of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HARMLESS = frozenset(
    """
    PATH HOME USER LOGNAME SHELL TZ TMPDIR TEMP TMP
    LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY
    LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME
    TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES
    XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_CURRENT_DESKTOP XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR
    XDG_SESSION_TYPE XDG_STATE_HOME
    CI SOURCE_DATE_EPOCH LD_LIBRARY_PATH DEBIAN_FRONTEND
    SSL_CERT_DIR SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO PIP_CERT
    AWS_CA_BUNDLE
    VIRTUAL_ENV CONDA_DEFAULT_ENV CONDA_PREFIX PYENV_ROOT PYENV_VERSION PYTHONDONTWRITEBYTECODE PYTHONIOENCODING
    PYTHONPATH PYTHONUNBUFFERED PYTHONUTF8 UV_CACHE_DIR PIPX_HOME POETRY_HOME
    NVM_BIN NVM_DIR NODE_PATH PNPM_HOME BUN_INSTALL DENO_DIR VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH
    ASDF_DATA_DIR ASDF_DIR MISE_DATA_DIR
    GOBIN GOCACHE GOMODCACHE GOPATH GOROOT CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
    JAVA_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT
    RBENV_ROOT GEM_HOME GEM_PATH DOTNET_ROOT COMPOSER_HOME OPAM_SWITCH_PREFIX
    HOMEBREW_CELLAR HOMEBREW_PREFIX HOMEBREW_REPOSITORY NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE
    TRACEPARENT TRACESTATE FAIRLEAD_HOOK_RUN FAIRLEAD_PROJECT_DIR
    """.split()
)
"""What programs need to work at all. Each by its full name: LC_ and XDG_ are prefixes that people hide keys behind."""


def harmless(environ: Mapping[str, str], known: Iterable[str], passed: Iterable[str]) -> dict[str, str]:
    """What a hook of a project gets: nothing that may be a secret, and what the user hands on. `known` are more names
    of the first kind."""
    names = HARMLESS.union(known)
    kept = {name: value for name, value in environ.items() if name in names and not _may_be_secret(value)}
    for name in LISTS & kept.keys():
        kept[name] = _absolute(kept[name])
    kept = {name: value for name, value in kept.items() if value or name not in LISTS}  # an empty one means "here"
    return {**kept, **chosen(environ, passed)}


LISTS = frozenset({"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH", "GEM_PATH"})


def _absolute(value: str) -> str:
    """Without places that depend on where the hook runs: a project could put programs there."""
    return ":".join(folder for folder in value.split(":") if folder.startswith("/"))


def _may_be_secret(value: str) -> bool:
    """Paths, words and languages hold none of these."""
    return ("://" in value and "@" in value) or "\n" in value or "PRIVATE KEY" in value


def chosen(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Those that are named; a name may hold `*` and `?`."""
    exact = {name for name in names if not _is_pattern(name)}
    patterns = [name for name in names if _is_pattern(name)]
    kept = {name: environ[name] for name in environ if name in exact}
    return {**kept, **_matching(environ, patterns)} if patterns else kept


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _matching(environ: Mapping[str, str], patterns: list[str]) -> dict[str, str]:
    from fnmatch import fnmatchcase

    patterns = [pattern.replace("[", "[[]") for pattern in patterns]
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, one) for one in patterns)}
