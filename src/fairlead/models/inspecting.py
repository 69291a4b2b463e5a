"""Turn by turn a model asks for what it wants to see, until it judges. Turns, tokens and time have an end."""

from __future__ import annotations

import json
import time

from fairlead.models import answers, asking, room
from fairlead.models.framing import Unclear, as_data, visible
from fairlead.models.looking import encoded
from fairlead.models.records import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.hooks import Cancellation
    from fairlead.models.answers import Answer
    from fairlead.models.looking import Looking
    from fairlead.models.records import Profile, Question, Reply, ToolCall

    Facts = dict[str, str | int | float]

MOST_CALLS = 16
"""In one turn."""
MOST_REPEATS = 3
"""How often the same may be asked for."""
_TIME_TO_JUDGE = 0.25
"""The part of the time that is kept for the last turn."""
_CHARACTERS = 4
"""In a token, roughly."""


class Inspection:
    """One event, until it is judged."""

    def __init__(
        self,
        profile: Profile,
        question: Question,
        tools: Looking,
        turns: int,
        tokens: int,
        deadline: float,
        cancellation: Cancellation,
    ) -> None:
        self._profile = profile
        self._question = question
        self._tools = tools
        self._most_turns = turns
        self._most_tokens = tokens
        self._deadline = deadline
        self._judge_from = deadline - (deadline - time.monotonic()) * _TIME_TO_JUDGE
        self._cancellation = cancellation
        self._messages = list(question.messages)
        self._looked_at: list[dict[str, Any]] = []
        self._repeats: dict[str, int] = {}
        self._has_said_all = False
        """It called no tool, and gave no clear answer either."""
        self._spent = 0
        self._usage = Usage()
        self._model = ""
        self._turns = 0

    @property
    def calls(self) -> int:
        return len(self._looked_at)

    def facts(self) -> Facts:
        cost = self._profile.cost(self._usage)
        return {
            "model": self._model or self._profile.model,
            "turns": self._turns,
            "calls": self.calls,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            **({} if cost is None else {"cost": cost}),
        }

    def answer(self) -> Answer:
        """Raises Unclear, or HookFailed where the model cannot be asked."""
        while not self._is_last_turn():
            reply = self._ask(self._question.but(messages=tuple(self._messages), schema=None))
            if reply.calls and reply.finished:
                self._look(reply)
                continue
            try:
                return answers.read(reply, "ok", self._data())
            except Unclear:
                self._has_said_all = True
        return answers.read(self._ask(self._last_question()), "ok", self._data())

    def _is_last_turn(self) -> bool:
        """The next would be one too many, or there would be no room for it."""
        return (
            self._has_said_all
            or self._turns + 1 >= self._most_turns
            or self._spent + 2 * self._size() > self._most_tokens
            or time.monotonic() > self._judge_from
        )

    def _last_question(self) -> Question:
        """Without tools, and so without calls in the conversation, which not every provider takes then."""
        message = {"role": "user", "content": self._data()}
        return self._question.but(messages=(message,), tools=())

    def _data(self) -> str:
        """All that the model has been shown."""
        first: dict[str, Any] = json.loads(self._question.messages[0]["content"])
        return as_data({**first, "LOOKED_AT": self._looked_at})

    # --- asking --------------------------------------------------------------------------------------

    def _ask(self, question: Question) -> Reply:
        if self._cancellation.is_set():
            raise Unclear("nobody waits for the answer any more")
        if self._spent + self._size() > self._most_tokens:
            raise Unclear(f"no judgement within {self._most_tokens:,} tokens; give the hook a narrower prompt")
        reply = asking.ask(self._profile, question, self._deadline)
        self._count(question, reply)
        room.check(self._profile, question, reply)
        return reply

    def _count(self, question: Question, reply: Reply) -> None:
        used = reply.usage
        self._turns += 1
        self._model = reply.model or self._model
        self._usage = Usage(
            input_tokens=self._usage.input_tokens + used.input_tokens,
            output_tokens=self._usage.output_tokens + used.output_tokens,
        )
        # Not every server counts.
        self._spent += (used.input_tokens or _tokens(question)) + (used.output_tokens or len(reply.text) // _CHARACTERS)

    def _size(self) -> int:
        return _tokens(self._question.but(messages=tuple(self._messages)))

    # --- looking -------------------------------------------------------------------------------------

    def _look(self, reply: Reply) -> None:
        self._messages.append({"role": "assistant", "content": reply.text, "calls": list(reply.calls)})
        for number, call in enumerate(reply.calls):
            said = self._result(call) if number < MOST_CALLS else _error("these are too many calls at once")
            self._messages.append({"role": "tool", "id": call.id, "name": call.name, "content": said})
            self._looked_at.append({"tool": call.name, "arguments": call.arguments, "answer": json.loads(said)})

    def _result(self, call: ToolCall) -> str:
        self._refuse_to_go_round(call)
        said = self._tools.answer(call.name, call.arguments)
        left = self._most_tokens - self._spent - self._size()
        if len(said) // _CHARACTERS <= left:
            return said
        return _error("this is more than there is room for: ask for less, or judge by what you have seen")

    def _refuse_to_go_round(self, call: ToolCall) -> None:
        wanted = f"{visible(call.name)} {as_data(call.arguments)}"
        self._repeats[wanted] = self._repeats.get(wanted, 0) + 1
        if self._repeats[wanted] > MOST_REPEATS:
            raise Unclear(f"the model goes round in circles: it wants {wanted[:200]} for the {MOST_REPEATS + 1}th time")


def _error(why: str) -> str:
    return encoded({"error": why})


def _tokens(question: Question) -> int:
    calls = [call for message in question.messages for call in message.get("calls", ())]
    characters = len(question.system) + sum(len(message["content"]) for message in question.messages)
    return (characters + sum(len(str(call.arguments)) for call in calls)) // _CHARACTERS
