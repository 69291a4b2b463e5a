"""`prompt`: a language model judges, by the instructions of the hook's owner."""

from __future__ import annotations

import time

from fairlead._record import Record
from fairlead.handlers._judging import Judged, question, shown
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from fairlead.events import Event
    from fairlead.handlers._judging import Facts
    from fairlead.hooks import Hook, Setting
    from fairlead.models.records import Profile, Question, Reply
    from fairlead.verdicts import Verdict

TIMEOUT = 30.0
"""Seconds, if a hook says nothing about its time."""


class Prompt(Record):
    prompt: str
    model: str = ""
    """A profile, or a model by its name; empty for the usual one."""
    style: str = "ok"
    """How the answer is written: `ok`, `word` or `decision`."""
    continue_on_block: bool = False
    cache: bool = False
    """Whether the same question is asked only once in a session."""

    kind: ClassVar[str] = "prompt"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        limit = setting.limit(hook.timeout)
        seconds = TIMEOUT if limit is None else max(limit - 0.25, limit * 0.8)
        return Call(self._judge, (hook, event, setting, time.monotonic() + seconds), timeout=limit, in_thread=True)

    def _judge(self, hook: Hook, event: Event, setting: Setting, deadline: float) -> Judged:
        from fairlead.models import profiles
        from fairlead.models.framing import Unclear

        try:
            asked = question(self.prompt, self.style, hook, event, setting)
        except Unclear as why:
            return Judged(unclear=str(why), facts={})
        profile = profiles.find(self.model, hook.origin.dialect, setting)
        return self._ask(profile, asked, event, setting, deadline)

    def _ask(self, profile: Profile, asked: Question, event: Event, setting: Setting, deadline: float) -> Judged:
        from fairlead.models import answers, asking, cache, room
        from fairlead.models.framing import Unclear

        kept = cache.get(profile, asked, event.session_id, setting) if self.cache else None
        facts: Facts = {}
        try:
            reply = kept or asking.ask(profile, asked, deadline)
            facts = _facts(profile, reply, cached=kept is not None)
            room.check(profile, asked, reply)
            answer = answers.read(reply, self.style, asked.messages[0]["content"])
        except Unclear as why:
            return Judged(unclear=str(why), facts=facts)
        if self.cache and kept is None:
            cache.put(profile, asked, event.session_id, setting, reply)
        return Judged(answer=answer, facts=facts)

    def conclude(self, hook: Hook, event: Event, _work: Call, outcome: Judged) -> Verdict:
        from fairlead.models import effects

        if outcome.answer is None:
            return effects.no_judgement(hook, event, outcome.unclear)
        return effects.verdict(outcome.answer, hook, event, style=self.style, continue_on_block=self.continue_on_block)

    def describe(self) -> str:
        return f"prompt to {self.model}: {shown(self.prompt)}" if self.model else f"prompt: {shown(self.prompt)}"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.prompt, self.model, self.style, self.continue_on_block, self.cache)


def _facts(profile: Profile, reply: Reply, *, cached: bool) -> Facts:
    """For the report: what it took. What was kept from before has cost nothing now."""
    model = shown(reply.model or profile.model)
    if cached:
        return {"model": model, "cached": 1}
    cost = profile.cost(reply.usage)
    return {
        "model": model,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "attempts": reply.attempts,
        **({} if cost is None else {"cost": cost}),
    }
