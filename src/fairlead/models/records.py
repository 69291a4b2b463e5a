"""A question to a language model, and what came back."""

from __future__ import annotations

from fairlead._record import Record
from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ModelFailed(HookFailed):
    """A model could not be asked, or did not answer; the message says what to do."""


class Profile(Record):
    """Which model answers, and where it is."""

    name: str
    """How people call it: `models.fast`, or the place that it was found in."""
    provider: str
    """`openai` (also for compatible servers), `anthropic` or `google`"""
    model: str
    base_url: str
    api_key: str
    """Empty where none is needed. Never shown."""
    max_tokens: int = 1024
    input_price: float | None = None
    """Per million tokens, as is the next."""
    output_price: float | None = None
    key_from: str = ""
    """Where the key comes from, in words for people."""
    bearer: bool = False
    """For `anthropic`: the key is a token, and goes into another header."""

    def cost(self, usage: Usage) -> float | None:
        """None where the prices are not known."""
        if self.input_price is None or self.output_price is None:
            return None
        return (usage.input_tokens * self.input_price + usage.output_tokens * self.output_price) / 1_000_000

    def __repr__(self) -> str:
        hidden = {"api_key": "***" if self.api_key else "", "base_url": _without_query(self.base_url)}
        shown = self.as_dict() | hidden
        return f"Profile({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Tool(Record):
    """Something that a model may call."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema."""


class ToolCall(Record):
    id: str
    name: str
    arguments: dict[str, Any]
    signature: str = ""
    """What the provider wants back beside this call; nobody else reads it."""


class Question(Record):
    system: str
    messages: tuple[dict[str, Any], ...]
    """`{"role": "user", "content": str}`, `{"role": "assistant", "content": str, "calls": [ToolCall]}` or
    `{"role": "tool", "id": str, "name": str, "content": str}`"""
    schema: dict[str, Any] | None = None
    """What the answer must look like, where the provider can promise it."""
    tools: tuple[Tool, ...] = ()


class Usage(Record):
    input_tokens: int = 0
    output_tokens: int = 0


class Reply(Record):
    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    """The model that answered, in the provider's words."""
    finished: bool = True
    """False where it was cut by the cap on tokens, or refused."""
    attempts: int = 1
    """How often it had to be asked."""


class Request(Record):
    """A question in a provider's own form."""

    url: str
    headers: dict[str, str]
    """With the key: never shown."""
    body: dict[str, Any]

    def __repr__(self) -> str:
        return f"Request(url={_without_query(self.url)!r}, body={self.body!r})"


def _without_query(address: str) -> str:
    """Some put a key there."""
    base, mark, _ = address.partition("?")
    return f"{base}?…" if mark else base
