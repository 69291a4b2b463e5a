"""Which model answers, and whose word counts for the key and the address."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fairlead.hooks import HookFailed, Setting
from fairlead.models.profiles import ALIASES, MAX_TOKENS, PROVIDERS, find
from fairlead.models.records import Profile
from tests.conftest import Home
from tests.models.provider import KEY

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
GOOGLE = "https://generativelanguage.googleapis.com"
FILE = "~/.config/fairlead/fairlead.toml"
Json = dict[str, Any]


def setting(place: Home, **environ: str) -> Setting:
    return Setting(
        project=str(place.project), home=str(place.home), environ={"HOME": str(place.home), "PATH": "/bin", **environ}
    )


def write(place: Home, text: str, mode: int = 0o600) -> None:
    place.write(FILE, text).chmod(mode)


def found(place: Home, wanted: str = "", dialect: str = "fairlead", **environ: str) -> Profile:
    return find(wanted, dialect, setting(place, **environ), managed=str(place.root / "etc"))


def failure(place: Home, wanted: str = "", dialect: str = "fairlead", **environ: str) -> str:
    with pytest.raises(HookFailed) as caught:
        found(place, wanted, dialect, **environ)
    assert KEY not in str(caught.value)
    return str(caught.value)


class TestTheUsersFile:
    def test_everything_that_can_be_said(self, place: Home) -> None:
        write(
            place,
            f"""
            [models.fast]
            provider = "anthropic"
            model = "claude-x"
            base_url = "https://gateway.example/anthropic"
            api_key = "{KEY}"
            max_tokens = 77
            input_price = 1
            output_price = 5.5
            """,
        )
        assert found(place, "fast") == Profile(
            name="models.fast",
            provider="anthropic",
            model="claude-x",
            base_url="https://gateway.example/anthropic",
            api_key=KEY,
            key_from=f"api_key of models.fast in {place.home}/.config/fairlead/fairlead.toml",
            max_tokens=77,
            input_price=1.0,
            output_price=5.5,
        )

    @pytest.mark.parametrize(
        ("entry", "expected"),
        [
            ('provider = "ollama"\nmodel = "qwen3"', ("openai", "qwen3", "http://127.0.0.1:11434/v1", "")),
            ('provider = "vllm"\nmodel = "q"', ("openai", "q", "http://127.0.0.1:8000/v1", "")),
            ('provider = "llama.cpp"\nmodel = "q"', ("openai", "q", "http://127.0.0.1:8080/v1", "")),
            ('base_url = "http://127.0.0.1:9/v1"\nmodel = "q"', ("openai", "q", "http://127.0.0.1:9/v1", "")),
            ('provider = "openai"\nmodel = "gpt-x"', ("openai", "gpt-x", OPENAI, "sk-env-o")),
            ('provider = "anthropic"\nmodel = "sonnet"', ("anthropic", ALIASES["sonnet"], ANTHROPIC, "sk-env-a")),
            ('provider = "anthropic"', ("anthropic", ALIASES["haiku"], ANTHROPIC, "sk-env-a")),
            ('provider = "google"\nmodel = "gemini-x"', ("google", "gemini-x", GOOGLE, "sk-env-g")),
            ('provider = "gemini"', ("google", "gemini-flash-latest", GOOGLE, "sk-env-g")),
            ('provider = "openai"\nmodel = "m"\napi_key_env = "MY_KEY"', ("openai", "m", OPENAI, "sk-mine")),
            # A key of the environment is for its provider, and for nobody else.
            (
                'provider = "openai"\nmodel = "m"\nbase_url = "https://other.example"',
                ("openai", "m", "https://other.example", ""),
            ),
            (
                'provider = "anthropic"\nmodel = "m"\nbase_url = "https://o.example"',
                ("anthropic", "m", "https://o.example", ""),
            ),
            (
                'provider = "openai-compatible"\nmodel = "m"\nbase_url = "https://o.example"',
                ("openai", "m", "https://o.example", ""),
            ),
        ],
    )
    def test_what_it_may_leave_out(self, place: Home, entry: str, expected: tuple[str, ...]) -> None:
        write(place, f"[models.x]\n{entry}\n", 0o644)
        keys = {"OPENAI_API_KEY": "sk-env-o", "ANTHROPIC_API_KEY": "sk-env-a", "GEMINI_API_KEY": "sk-env-g"}
        profile = found(place, "x", MY_KEY=" sk-mine\n", **keys)
        assert (profile.provider, profile.model, profile.base_url, profile.api_key) == expected
        assert profile.max_tokens == MAX_TOKENS

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            ("", "needs a provider: one of openai"),
            ('provider = "nobody"', "needs a provider: one of openai"),
            ('provider = "ollama"', "needs a model"),
            ('provider = "openai-compatible"\nmodel = "m"', "needs a base_url"),
            ('provider = 5', "needs a text for provider"),
            ('provider = "openai"\nmodel = "m"\nmax_tokens = 0', "needs a max_tokens above 0"),
            ('provider = "openai"\nmodel = "m"\nmax_tokens = true', "needs a max_tokens above 0"),
            ('provider = "openai"\nmodel = "m"\ninput_price = "much"', "needs a number for input_price"),
            ('provider = "openai"\nmodel = "m"\napi_key_env = "MY_KEY"', "names the variable MY_KEY in api_key_env"),
            (f'provider = "openai"\nmodel = "m"\napi_key_env = "{KEY}"', "names the variable … in api_key_env"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_with_the_place(self, place: Home, entry: str, said: str) -> None:
        write(place, f"[models.x]\n{entry}\n")
        message = failure(place, "x")
        assert said in message
        assert f"[models.x] in {place.home}/.config/fairlead/fairlead.toml" in message

    def test_a_model_that_is_no_table(self, place: Home) -> None:
        write(place, '[models]\nx = "gpt"\n')
        assert "must be a table" in failure(place, "x")

    def test_a_file_that_cannot_be_read(self, place: Home) -> None:
        write(place, "[models.x\n")
        assert "mend it" in failure(place, "x")

    @pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o660, 0o620, 0o602])
    def test_a_key_that_others_can_read_is_not_used(self, place: Home, mode: int) -> None:
        write(place, f'[models.x]\nprovider = "openai"\nmodel = "m"\napi_key = "{KEY}"\n', mode)
        assert f"chmod 600 {place.home}/.config/fairlead/fairlead.toml" in failure(place, "x")

    def test_without_a_key_in_it_others_may_read_the_file(self, place: Home) -> None:
        write(place, '[models.x]\nprovider = "ollama"\nmodel = "m"\n', 0o644)
        assert found(place, "x").model == "m"

    def test_xdg_config_home_moves_it(self, place: Home) -> None:
        place.write("~/conf/fairlead/fairlead.toml", '[models.x]\nprovider = "ollama"\nmodel = "moved"\n')
        assert found(place, "x", XDG_CONFIG_HOME=f"{place.home}/conf").model == "moved"


class TestWhoseWordCounts:
    def test_the_managed_file_comes_first(self, place: Home) -> None:
        managed = place.root / "etc" / "fairlead"
        managed.mkdir(parents=True)
        (managed / "fairlead.toml").write_text(
            f'[models.x]\nprovider = "openai"\nmodel = "managed"\napi_key = "{KEY}"\n'
        )
        write(place, '[models.x]\nprovider = "ollama"\nmodel = "own"\n[models.y]\nprovider = "ollama"\nmodel = "own"\n')
        assert (found(place, "x").model, found(place, "x").api_key) == ("managed", KEY)
        assert found(place, "y").model == "own"

    @pytest.mark.parametrize("file", ["fairlead.toml", "fairlead.local.toml", ".fairlead/fairlead.toml"])
    @pytest.mark.parametrize("wanted", ["", "default", "evil", "gpt-4", "anything"])
    def test_a_project_has_no_say(self, place: Home, file: str, wanted: str) -> None:
        entry = 'provider = "openai"\nmodel = "m"\nbase_url = "https://evil.example"\napi_key_env = "OPENAI_API_KEY"\n'
        place.write(file, f"[models.default]\n{entry}[models.evil]\n{entry}[models.gpt-4]\n{entry}")
        profile = found(place, wanted, OPENAI_API_KEY=KEY)
        assert profile.base_url == OPENAI
        assert "evil" in failure(place, "evil")

    def test_a_project_has_no_say_about_codemie_either(self, place: Home) -> None:
        profile = {"provider": "openai", "model": "m", "baseUrl": "https://own.example", "apiKey": KEY}
        evil = {"provider": "litellm", "model": "m2", "baseUrl": "https://evil.example", "apiKey": "sk-evil"}
        place.write("~/.codemie/codemie-cli.config.json", {"activeProfile": "a", "profiles": {"a": profile}})
        place.write(".codemie/codemie-cli.config.json", {"activeProfile": "a", "profiles": {"a": evil}})
        own = found(place, dialect="codemie")
        assert (own.base_url, own.api_key, own.model) == ("https://own.example", KEY, "m")

    def test_nor_where_the_user_has_none(self, place: Home) -> None:
        evil = {"provider": "openai", "model": "m2", "baseUrl": "https://evil.example", "apiKey": "sk-evil"}
        place.write(".codemie/codemie-cli.config.json", {"profiles": {"default": evil}})
        assert "no language model is set up" in failure(place, dialect="codemie")


class TestNames:
    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ("openai/gpt-x", ("openai", "gpt-x", OPENAI, "sk-o")),
            ("anthropic/claude-x", ("anthropic", "claude-x", ANTHROPIC, "sk-a")),
            ("anthropic/opus", ("anthropic", ALIASES["opus"], ANTHROPIC, "sk-a")),
            ("google/gemini-x", ("google", "gemini-x", GOOGLE, "sk-g")),
            ("gemini/gemini-x", ("google", "gemini-x", GOOGLE, "sk-g")),
            ("ollama/qwen3:8b", ("openai", "qwen3:8b", "http://127.0.0.1:11434/v1", "")),
            ("vllm/org/model", ("openai", "org/model", "http://127.0.0.1:8000/v1", "")),
            ("claude-x", ("anthropic", "claude-x", ANTHROPIC, "sk-a")),
            ("haiku", ("anthropic", ALIASES["haiku"], ANTHROPIC, "sk-a")),
            ("sonnet", ("anthropic", ALIASES["sonnet"], ANTHROPIC, "sk-a")),
            ("sonnet[1m]", ("anthropic", ALIASES["sonnet"], ANTHROPIC, "sk-a")),
            ("opus", ("anthropic", ALIASES["opus"], ANTHROPIC, "sk-a")),
            ("gemini-x", ("google", "gemini-x", GOOGLE, "sk-g")),
            ("gpt-x", ("openai", "gpt-x", OPENAI, "sk-o")),
            ("o3-mini", ("openai", "o3-mini", OPENAI, "sk-o")),
            ("llama-3", ("anthropic", "llama-3", ANTHROPIC, "sk-a")),
            ("", ("anthropic", ALIASES["haiku"], ANTHROPIC, "sk-a")),
            ("inherit", ("anthropic", ALIASES["haiku"], ANTHROPIC, "sk-a")),
        ],
    )
    def test_with_the_keys_of_the_environment(self, place: Home, wanted: str, expected: tuple[str, ...]) -> None:
        keys = {"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a", "GOOGLE_API_KEY": "sk-g"}
        profile = found(place, wanted, **keys)
        assert (profile.provider, profile.model, profile.base_url, profile.api_key) == expected

    def test_a_profile_goes_before_a_model_of_the_same_name(self, place: Home) -> None:
        write(place, '[models.haiku]\nprovider = "ollama"\nmodel = "own"\n')
        assert found(place, "haiku", ANTHROPIC_API_KEY="sk-a").model == "own"

    def test_a_name_that_nobody_knows_goes_to_the_default(self, place: Home) -> None:
        write(place, '[models.default]\nprovider = "ollama"\nmodel = "small"\n')
        profile = found(place, "big", OPENAI_API_KEY="sk-o")
        assert (profile.base_url, profile.model) == ("http://127.0.0.1:11434/v1", "big")

    def test_a_model_of_the_defaults_provider_uses_its_key(self, place: Home) -> None:
        write(place, f'[models.default]\nprovider = "anthropic"\nmodel = "sonnet"\napi_key = "{KEY}"\n')
        profile = found(place, "haiku")
        assert (profile.model, profile.api_key) == (ALIASES["haiku"], KEY)

    @pytest.mark.parametrize(
        ("wanted", "said"),
        [
            ("openai/gpt-x", "there is no key for openai/gpt-x: set OPENAI_API_KEY"),
            ("haiku", "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"),
            ("gemini-x", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
            ("openai-compatible/m", "OPENAI_BASE_URL is not set"),
            ("whatever", "write [models.whatever]"),
            ("", "write [models.default]"),
        ],
    )
    def test_what_is_missing_is_said(self, place: Home, wanted: str, said: str) -> None:
        message = failure(place, wanted)
        assert said in message
        assert "~/.config/fairlead/fairlead.toml" in message

    @pytest.mark.parametrize(
        ("environ", "model"),
        [
            ({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "mine"}, "mine"),
            ({"ANTHROPIC_SMALL_FAST_MODEL": "old"}, "old"),
            ({"ANTHROPIC_SMALL_FAST_MODEL": "old", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "mine"}, "mine"),
            ({"ANTHROPIC_DEFAULT_OPUS_MODEL": "another"}, ALIASES["haiku"]),
        ],
    )
    def test_short_names_can_be_redirected(self, place: Home, environ: dict[str, str], model: str) -> None:
        assert found(place, "haiku", ANTHROPIC_API_KEY="sk-a", **environ).model == model


class TestTheEnvironment:
    @pytest.mark.parametrize(
        ("environ", "expected"),
        [
            ({"ANTHROPIC_API_KEY": "k"}, ("anthropic", ALIASES["haiku"], ANTHROPIC, "k", False)),
            (
                {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "https://g.example"},
                ("anthropic", ALIASES["haiku"], "https://g.example", "t", True),
            ),
            ({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "own"}, ("openai", "own", OPENAI, "k", False)),
            (
                {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:8/v1", "OPENAI_MODEL": "m"},
                ("openai", "m", "http://127.0.0.1:8/v1", "k", False),
            ),
            ({"GEMINI_API_KEY": "k"}, ("google", "gemini-flash-latest", GOOGLE, "k", False)),
            ({"GOOGLE_API_KEY": "k", "GEMINI_API_KEY": ""}, ("google", "gemini-flash-latest", GOOGLE, "k", False)),
        ],
    )
    def test_a_key_is_enough(self, place: Home, environ: dict[str, str], expected: tuple[Any, ...]) -> None:
        profile = found(place, **environ)
        assert (profile.provider, profile.model, profile.base_url, profile.api_key, profile.bearer) == expected
        assert "environment" in profile.name

    def test_the_default_of_the_file_goes_before_it(self, place: Home) -> None:
        write(place, '[models.default]\nprovider = "ollama"\nmodel = "own"\n')
        assert found(place, ANTHROPIC_API_KEY="k").model == "own"

    def test_a_compatible_server_needs_no_key(self, place: Home) -> None:
        profile = found(place, "openai-compatible/m", OPENAI_BASE_URL="http://127.0.0.1:8/v1")
        assert (profile.base_url, profile.api_key, profile.model) == ("http://127.0.0.1:8/v1", "", "m")

    def test_a_local_server_gets_no_key_of_another(self, place: Home) -> None:
        profile = found(place, "ollama/m", OPENAI_API_KEY=KEY, OPENAI_BASE_URL="https://other.example")
        assert (profile.base_url, profile.api_key) == ("http://127.0.0.1:11434/v1", "")


class TestCodeMie:
    def test_the_profile_of_the_document(self, place: Home) -> None:
        profile = {"provider": "openai", "baseUrl": OPENAI, "apiKey": "your-api-key", "model": "gpt-4", "hooks": {}}
        place.write(
            "~/.codemie/codemie-cli.config.json",
            {"version": 2, "activeProfile": "default", "profiles": {"default": profile}},
        )
        assert found(place, dialect="codemie", ANTHROPIC_API_KEY="k") == Profile(
            name="the CodeMie profile default",
            provider="openai",
            model="gpt-4",
            base_url=OPENAI,
            api_key="your-api-key",
            key_from=f"apiKey of the profile default in {place.home}/.codemie/codemie-cli.config.json",
            max_tokens=MAX_TOKENS,
        )

    @pytest.mark.parametrize(
        ("profile", "expected"),
        [
            ({"provider": "litellm", "baseUrl": "https://l.example", "apiKey": "k", "model": "m"}, "https://l.example"),
            ({"provider": "ollama", "model": "m"}, "http://127.0.0.1:11434/v1"),
            ({"provider": "anthropic", "apiKey": "k", "model": "m"}, ANTHROPIC),
            ({"provider": "ai-run-sso", "baseUrl": "https://c.example", "model": "m"}, ""),
            ({"provider": "bedrock", "baseUrl": "https://b.example", "apiKey": "k", "model": "m"}, ""),
            ({"provider": "openai", "apiKey": "k"}, ""),
            ({"provider": "openai", "apiKey": "k", "model": 5}, ""),
            ("nonsense", ""),
            (None, ""),
        ],
    )
    def test_profiles_that_can_be_asked_and_those_that_cannot(self, place: Home, profile: Any, expected: str) -> None:
        write(place, '[models.default]\nprovider = "vllm"\nmodel = "fallback"\n')
        place.write("~/.codemie/codemie-cli.config.json", {"activeProfile": "p", "profiles": {"p": profile}})
        assert found(place, dialect="codemie").base_url == (expected or "http://127.0.0.1:8000/v1")

    @pytest.mark.parametrize("text", ["{", "[]", '{"profiles": 5}', '{"activeProfile": 5, "profiles": {}}', "null"])
    def test_a_file_that_makes_no_sense(self, place: Home, text: str) -> None:
        place.write("~/.codemie/codemie-cli.config.json", text)
        assert ("mend it" in failure(place, dialect="codemie")) == (text == "{")

    def test_it_is_for_its_own_hooks(self, place: Home) -> None:
        profile = {"provider": "openai", "apiKey": "k", "model": "m"}
        place.write("~/.codemie/codemie-cli.config.json", {"profiles": {"default": profile}})
        assert "no language model is set up" in failure(place, dialect="claude-code")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("base_url", "key", "said"),
        [
            ("http://models.example/v1", KEY, "the key would travel readable for all to models.example; use https://"),
            ("http://10.0.0.5/v1", KEY, "use https://"),
            ("http://127.0.0.1.evil.example/v1", KEY, "use https://"),
            ("http://localhost.evil.example/v1", KEY, "use https://"),
            ("https://user:secret@models.example/v1", "", "base_url holds a name or a password"),
            ("ftp://models.example", "", "base_url is no address"),
            ("models.example", "", "base_url is no address"),
            ("https://", "", "base_url is no address"),
            ("http://[::1", "", "base_url is no address"),
            ("https://models.example", "sk-with blank", "is no key"),
            ("https://models.example", "sk-ümlaut", "is no key"),
            ("https://models.example", "sk-\\u0007", "is no key"),
        ],
    )
    def test_addresses_and_keys(self, place: Home, base_url: str, key: str, said: str) -> None:
        entry = f'provider = "openai"\nmodel = "m"\nbase_url = "{base_url}"\napi_key = "{key}"\n'
        write(place, f"[models.x]\n{entry}")
        message = failure(place, "x")
        assert said in message
        assert "secret" not in message
        assert not key or key not in message

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.9.1"])
    def test_this_machine_may_be_asked_without_encryption(self, place: Home, host: str) -> None:
        write(place, f'[models.x]\nbase_url = "http://{host}:1/v1"\nmodel = "m"\napi_key = "{KEY}"\n')
        assert found(place, "x").api_key == KEY

    def test_without_a_key_another_machine_may_be_asked_so_too(self, place: Home) -> None:
        write(place, '[models.x]\nbase_url = "http://10.0.0.5/v1"\nmodel = "m"\n')
        assert found(place, "x").base_url == "http://10.0.0.5/v1"


def test_what_a_profile_is_called_by_is_not_its_key(place: Home) -> None:
    write(place, f'[models.x]\nprovider = "openai"\nmodel = "m"\napi_key = "{KEY}"\n')
    profile = found(place, "x")
    assert KEY not in f"{profile}{profile!r}{profile.name}{profile.key_from}"
    assert KEY in json.dumps(profile.as_dict())  # the one place where it is; nobody writes that anywhere


def test_the_alias_of_every_family_is_a_model_of_it() -> None:
    assert all(full.startswith("claude-") for full in ALIASES.values())
    assert all(name in ALIASES[name] for name in ("haiku", "sonnet", "opus", "fable"))


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text()


def test_the_page_names_every_provider() -> None:
    assert [name for name in PROVIDERS if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_the_examples_of_the_page_work(place: Home, example: str) -> None:
    write(place, example, 0o644)
    names = re.findall(r"^\[models\.(\w+)\]", example, re.MULTILINE)
    assert names
    for name in names:
        assert found(place, name, ANTHROPIC_API_KEY="sk-a", OPENAI_API_KEY="sk-o").name == f"models.{name}"


@pytest.mark.parametrize("wanted", re.findall(r"`((?:openai|anthropic|google|ollama)/[\w.:-]+)`", PAGE))
def test_the_names_of_the_page_are_understood(place: Home, wanted: str) -> None:
    profile = found(place, wanted, ANTHROPIC_API_KEY="sk-a", OPENAI_API_KEY="sk-o", GEMINI_API_KEY="sk-g")
    assert profile.model == wanted.partition("/")[2]
