"""Which model answers a hook, where it is, and with which key.

Keys and addresses come from the environment, from the managed and the user's fairlead.toml, and, for CodeMie's hooks,
from the user's profile there. A project's files are never asked: they could send the user's key to anybody.
"""

from __future__ import annotations

import os

from fairlead import documents
from fairlead.errors import ConfigError
from fairlead.hooks import HookFailed
from fairlead.locks import locked
from fairlead.models.records import Profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.hooks import Setting

MAX_TOKENS = 4096
"""Where nobody says otherwise: what a model thinks before it answers counts, too."""

ALIASES = {
    "haiku": "claude-haiku-5-5",
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "fable": "claude-fable-5-2",
    "best": "claude-opus-5-5",
    "opusplan": "claude-opus-5-5",
}
"""Claude Code's short names. ANTHROPIC_DEFAULT_HAIKU_MODEL and its like say otherwise."""

_FAST = {"anthropic": "haiku", "openai": "gpt-5.4-mini", "google": "gemini-flash-latest"}
"""For hooks that name no model, where nothing but a key is known."""

PROVIDERS = {
    "openai": "openai",
    "openai-compatible": "openai",
    "ollama": "openai",
    "vllm": "openai",
    "llama.cpp": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "gemini": "google",
}
"""What a profile may name, and the wire format of each."""
_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""In the order in which they are looked for."""
_MOVED = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
_LOCAL = ("ollama", "vllm", "llama.cpp")
"""Servers on this machine, which want no key."""
_PREFIXES = {
    "claude": "anthropic",
    "gemini": "google",
    "gpt": "openai",
    "chatgpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
}
_OF_A_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_NONE = ("", "default", "inherit")
"""Names that leave the choice to us."""


def find(wanted: str, dialect: str, setting: Setting, *, managed: str = "/etc") -> Profile:
    """The model that a hook of this dialect means by `wanted`. Raises HookFailed with what to write, and where."""
    return _checked(_Search(dialect, setting, managed).find(wanted.strip()))


def full_name(model: str, environ: Mapping[str, str]) -> str:
    """Of one of Anthropic's models, which may have been given by its short name."""
    if model not in ALIASES:
        return model
    family = {"best": "opus", "opusplan": "opus"}.get(model, model)
    old = environ.get("ANTHROPIC_SMALL_FAST_MODEL", "") if family == "haiku" else ""
    return environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL") or old or ALIASES[model]


class _Search:
    def __init__(self, dialect: str, setting: Setting, managed: str) -> None:
        self._dialect = dialect
        self._setting = setting
        self._managed = managed
        self._environ = setting.environ

    def find(self, wanted: str) -> Profile:
        if wanted in _NONE:
            return self._default() or self._nothing()
        return self._written(wanted) or self._of_provider(wanted) or self._by_name(wanted)

    # --- what somebody wrote -------------------------------------------------------------------------

    def _written(self, name: str) -> Profile | None:
        """`[models.NAME]`, the managed file first."""
        managed, own = self._files()
        for file in (managed,) if "models" in locked(self._managed, self._environ) else (managed, own):
            models = _models(file, self._environ)
            if name in models:
                return _Entry(name, models[name], file, self._environ, private=file == own).profile()
        return None

    def _files(self) -> tuple[str, str]:
        """The managed one, and the user's."""
        given = self._environ.get("XDG_CONFIG_HOME", "")
        config = given if given.startswith("/") else os.path.join(self._setting.home, ".config")
        managed, own = (os.path.join(folder, "fairlead", "fairlead.toml") for folder in (self._managed, config))
        return managed, own

    def _codemie(self) -> Profile | None:
        """The active profile of the user. What a project lays over it is for CodeMie's own work, not for our key."""
        if self._dialect != "codemie":
            return None
        path = os.path.join(self._setting.home, ".codemie", "codemie-cli.config.json")
        try:
            data = documents.parse_json(documents.read_text(path) or "{}")
        except ConfigError as error:
            raise HookFailed(f"{path}: {error}; mend it, so that its model can be asked") from None
        return _codemie_profile(data, path)

    # --- what follows from a name --------------------------------------------------------------------

    def _of_provider(self, wanted: str) -> Profile | None:
        """`openai/gpt-…`: for names that begin with a provider."""
        provider, slash, model = wanted.partition("/")
        provider = _proper(provider)
        if not slash or provider not in PROVIDERS or not model:
            return None
        if provider == "openai-compatible" and not self._environ.get("OPENAI_BASE_URL"):
            raise HookFailed(
                f"{wanted}: OPENAI_BASE_URL is not set, so nobody knows which server that is; set it, or {_write('…')}"
            )
        return self._at(provider, model)

    def _by_name(self, wanted: str) -> Profile:
        model = wanted.partition("[")[0]  # such as sonnet[1m]
        if model in ALIASES:
            return self._at("anthropic", model)
        provider = next((found for start, found in _PREFIXES.items() if model.startswith(start)), "")
        if provider:
            return self._at(provider, model)
        usual = self._default()
        if usual is None:
            raise HookFailed(f"no model is called {wanted!r}: {_write(wanted)}")
        return usual.but(model=wanted)

    def _at(self, provider: str, model: str) -> Profile:
        """At its provider: with the key of the environment, or of what answers hooks without a wish."""
        model = full_name(model, self._environ) if provider == "anthropic" else model
        found = self._from_environment(provider, model)
        if found is not None:
            return found
        usual = self._default()
        if usual is not None and usual.provider == PROVIDERS[provider] and provider in _KEYS:
            return usual.but(model=model)
        names = " or ".join(_KEYS[PROVIDERS[provider]])
        raise HookFailed(f"there is no key for {provider}/{model}: set {names}, or {_write('…')}")

    # --- what nobody has to say ----------------------------------------------------------------------

    def _default(self) -> Profile | None:
        return self._codemie() or self._written("default") or self._any_in_the_environment()

    def _any_in_the_environment(self) -> Profile | None:
        for provider in _KEYS:
            own = self._environ.get("OPENAI_MODEL", "") if provider == "openai" else ""
            model = own or full_name(_FAST[provider], self._environ)
            found = self._from_environment(provider, model)
            if found is not None:
                return found
        return None

    def _from_environment(self, provider: str, model: str) -> Profile | None:
        wire = PROVIDERS[provider]
        key, key_from = ("", "") if provider in _LOCAL else _key_in(self._environ, wire)
        if not key and provider in _KEYS:
            return None
        moved = "" if provider in _LOCAL else self._environ.get(_MOVED[wire], "").strip()
        return Profile(
            name=f"{provider}, from the environment",
            provider=wire,
            model=model,
            base_url=moved or _ADDRESSES.get(provider, ""),
            api_key=key,
            key_from=key_from,
            max_tokens=MAX_TOKENS,
            bearer=_is_token(key_from),
        )

    def _nothing(self) -> Profile:
        raise HookFailed(
            f"no language model is set up: {_write('default')}, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or "
            "GEMINI_API_KEY"
        )


def _write(name: str) -> str:
    return (
        f'write [models.{name}] with provider = "…", model = "…" and api_key_env = "…" into '
        "~/.config/fairlead/fairlead.toml (not into the project's)"
    )


def _proper(provider: str) -> str:
    return "google" if provider == "gemini" else provider


def _key_in(environ: Mapping[str, str], wire: str) -> tuple[str, str]:
    """The key for a provider, and where it is from; empty if there is none."""
    for variable in _KEYS.get(wire, ()):
        key = environ.get(variable, "").strip()
        if key:
            return key, f"the variable {variable}"
    return "", ""


def _is_token(key_from: str) -> bool:
    return key_from.endswith(" ANTHROPIC_AUTH_TOKEN")


# --- fairlead.toml -----------------------------------------------------------------------------------


def _models(file: str, environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        text = documents.read_text(file)
        found = documents.parse_toml(text, environ).get("models", {}) if text else {}
    except ConfigError as error:
        raise HookFailed(f"{file}: {error}; mend it, so that its models can be asked") from None
    return found if isinstance(found, dict) else {}


class _Entry:
    """One `[models.NAME]`."""

    def __init__(self, name: str, entry: Any, file: str, environ: Mapping[str, str], *, private: bool) -> None:
        self._name = f"models.{name}"
        self._file = file
        self._environ = environ
        self._private = private
        self._entry = entry if isinstance(entry, dict) else self._wrong("must be a table")

    def profile(self) -> Profile:
        provider, base_url = _proper(self._text("provider")), self._text("base_url")
        provider = provider or ("openai-compatible" if base_url else "")
        if provider not in PROVIDERS:
            self._wrong(f"needs a provider: one of {', '.join(PROVIDERS)}")
        key, key_from = self._key(provider, base_url)
        return Profile(
            name=self._name,
            provider=PROVIDERS[provider],
            model=self._model(provider),
            base_url=base_url or _ADDRESSES.get(provider) or self._wrong("needs a base_url"),
            api_key=key,
            key_from=key_from,
            max_tokens=self._cap(),
            input_price=self._price("input_price"),
            output_price=self._price("output_price"),
            bearer=_is_token(key_from),
        )

    def _model(self, provider: str) -> str:
        model: str = self._text("model") or _FAST.get(provider, "") or self._wrong("needs a model")
        return full_name(model, self._environ) if provider == "anthropic" else model

    def _key(self, provider: str, base_url: str) -> tuple[str, str]:
        """The key, and where it is from."""
        variable, written = self._text("api_key_env"), self._text("api_key")
        if variable:
            return self._key_named(variable)
        if written:
            self._must_be_private()
            return written, f"api_key of {self._name} in {self._file}"
        if base_url and base_url.rstrip("/") != _ADDRESSES.get(provider):
            return "", ""  # a key of the environment is not for an address that it was not meant for
        return _key_in(self._environ, provider)

    def _key_named(self, variable: str) -> tuple[str, str]:
        key = self._environ.get(variable, "").strip()
        # Somebody may have put the key itself there: only what looks like a name is shown.
        named = "_" in variable and all(char in _OF_A_NAME for char in variable)
        if not key:
            self._wrong(f"names the variable {variable if named else '…'} in api_key_env, and it is not set")
        return key, f"the variable {variable}"

    def _must_be_private(self) -> None:
        """A managed file is for everybody on the machine, with all that is in it."""
        if self._private and os.stat(self._file).st_mode & 0o077:
            raise HookFailed(f"{self._file} holds a key and others can read it: chmod 600 {self._file}")

    def _cap(self) -> int:
        value = self._entry.get("max_tokens", MAX_TOKENS)
        return value if type(value) is int and value > 0 else self._wrong("needs a max_tokens above 0")

    def _price(self, key: str) -> float | None:
        value = self._entry.get(key)
        if value is None:
            return None
        if type(value) not in (int, float) or not 0 <= value < float("inf"):
            self._wrong(f"needs a number for {key}: the price of a million tokens")
        return float(value)

    def _text(self, key: str) -> str:
        value = self._entry.get(key, "")
        return value.strip() if isinstance(value, str) else self._wrong(f"needs a text for {key}")

    def _wrong(self, what: str) -> Any:
        raise HookFailed(f"[{self._name}] in {self._file} {what}")


# --- CodeMie -----------------------------------------------------------------------------------------


_WITHOUT_A_KEY = ("ai-run-sso", "bedrock", "anthropic-subscription")
"""CodeMie asks these in ways that only it knows."""


def _codemie_profile(data: Any, path: str) -> Profile | None:
    """None where its provider is none that can be asked with a key."""
    data = data if isinstance(data, dict) else {}
    active, profiles = data.get("activeProfile", "default"), data.get("profiles")
    found = profiles.get(active) if isinstance(profiles, dict) and isinstance(active, str) else None
    if not isinstance(found, dict):
        return None
    provider, base_url, key, model = (_string(found, name) for name in ("provider", "baseUrl", "apiKey", "model"))
    provider = _proper(provider)
    is_known = provider in PROVIDERS or (provider not in _WITHOUT_A_KEY and bool(key))
    if not is_known or not model or not (base_url or provider in _ADDRESSES):
        return None
    return Profile(
        name=f"the CodeMie profile {active}",
        provider=PROVIDERS.get(provider, "openai"),  # litellm and other gateways speak it
        model=model,
        base_url=base_url or _ADDRESSES[provider],
        api_key=key,
        key_from=f"apiKey of the profile {active} in {path}",
        max_tokens=MAX_TOKENS,
    )


def _string(table: dict[str, Any], name: str) -> str:
    value = table.get(name)
    return value.strip() if isinstance(value, str) else ""


# --- what no profile may be --------------------------------------------------------------------------


def _checked(profile: Profile) -> Profile:
    from urllib.parse import urlsplit

    from fairlead.approvals import is_loopback

    try:
        parts = urlsplit(profile.base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise HookFailed(f"{profile.name}: base_url is no address; it begins with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise HookFailed(f"{profile.name}: base_url holds a name or a password; put the key into api_key_env")
    if parts.scheme == "http" and profile.api_key and not is_loopback(profile.base_url):
        raise HookFailed(f"{profile.name}: the key would travel readable for all to {parts.hostname}; use https://")
    if not all("!" <= char <= "~" for char in profile.api_key):
        raise HookFailed(f"{profile.name}: {profile.key_from} is no key: it holds blanks or characters that none has")
    return profile
