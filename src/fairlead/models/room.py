"""Did the model read all of it?

Servers for one's own machine, Ollama above all, throw away what does not fit into the model's context, and answer as if
nothing had happened. The only trace is the number of tokens that they say they have read.
"""

from __future__ import annotations

from fairlead.models.framing import Unclear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.models.records import Profile, Question, Reply

_SHORT = 6000
"""Characters that every model has room for."""
_PER_TOKEN = 6
"""Characters: what is written in any language, code and JSON has fewer on average."""
_HONEST = ("https://api.openai.com/", "https://api.openai.com")
"""Who refuses what is too long."""


def check(profile: Profile, question: Question, reply: Reply) -> None:
    """Raises Unclear where a server has read much less than it was given."""
    asked = len(question.system) + sum(len(message["content"]) for message in question.messages)
    read = reply.usage.input_tokens
    if profile.provider != "openai" or profile.base_url.startswith(_HONEST) or asked <= _SHORT or not read:
        return
    if asked > read * _PER_TOKEN:
        raise Unclear(
            f"the model {profile.model} ({profile.name}) has read only {read:,} tokens of {asked:,} characters; give "
            "it a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), or ask about less"
        )
