"""What a session's user gives to a call: words, answers and outcomes, right ones and wrong ones."""

from collections.abc import Sequence
from random import Random
from typing import Any

from attrs import define, evolve, field

from agentscope_rx import wire
from agentscope_rx.agent import ConfirmResults, ExternalResults
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import (
    TextBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.permission import PermissionRule
from tests.laws.conversations.tools import TOOLKIT

__all__ = ["ANSWERS", "Speaker", "is_words"]

ANSWERS = "agentscope_confirm_results"
"""The metadata of a message that answers, as Java's programs do."""

Calls = Sequence[ToolUseBlock]


def is_words(input: Any) -> bool:
    """Return whether an input is words, which begin a new reply."""
    if not isinstance(input, UserMessage | list):
        return False
    return all(ANSWERS not in msg.metadata for msg in (input if isinstance(input, list) else [input]))


@define
class Speaker:
    """The user of a session.

    Attributes:
        outcomes: the keys of the calls whose outcome was given.
    """

    mark: str
    r: Random
    outcomes: set[str] = field(factory=set)

    def words(self) -> Any:
        """Say something."""
        words = UserMessage(f"{self.mark} wants something")
        return self.r.choice([words, [words, UserMessage("user", f"{self.mark} wants more")]])

    def invented(self) -> ToolUseBlock:
        """Return a call that nobody has made."""
        return ToolUseBlock(f"{self.mark} invented", "quick", {"key": f"{self.mark}.0"})

    def answers(self, asks: Calls, reply_id: str) -> Any:
        """Answer all questions, in one of the ways that there are."""
        r = self.r
        chance = r.choice([0.0, 0.7, 1.0])
        results = [self._answer(call, r.random() < chance) for call in asks]
        r.shuffle(results)
        shape = r.random()
        if shape < 0.2:
            return UserMessage(
                f"{self.mark} answers" if r.random() < 0.5 else "", metadata={ANSWERS: results}
            )
        if shape < 0.4:
            as_json = [wire.to_dict(result) for result in results]
            return [UserMessage("", metadata={ANSWERS: as_json})]
        return ConfirmResults(results, r.choice([None, reply_id]))

    def _answer(self, call: ToolUseBlock, confirmed: bool) -> ConfirmResult:
        r = self.r
        rules = [PermissionRule(call.name)] if r.random() < 0.2 else None
        edit = r.random()
        tool = TOOLKIT.get(call.name)
        if confirmed and edit < 0.2 and tool is not None and "note" in tool.parameters["properties"]:
            input = {**call.input, "note": f"{self.mark} edited"}
            call = evolve(call, input=input, content=wire.dumps(input).decode())
        elif confirmed and edit < 0.3 and "key" in call.input:
            call = evolve(call, name="quick", input={"key": call.input["key"]}, content=None)
        return ConfirmResult(confirmed, call, rules)

    def wrong_answers(self, asks: Calls) -> Any:
        """Answer one too many, one twice, one too few, none at all, for another reply, or as another."""
        right = [ConfirmResult(True, call) for call in asks]
        wrong = [
            ConfirmResults([*right, ConfirmResult(True, self.invented())]),
            ConfirmResults([*right, right[0]]),
            ConfirmResults(right[1:]),
            ConfirmResults([*right[1:], ConfirmResult(True, None)]),
            ConfirmResults(right, f"{self.mark} stale"),
            ExternalResults([ToolResultBlock.text("out", id=asks[0].id)]),
        ]
        return self.r.choice(wrong)

    def all_outcomes(self, waits: Calls) -> ExternalResults:
        """Give all outcomes."""
        return ExternalResults([self._outcome(call) for call in waits])

    def some_outcomes(self, waits: Calls) -> Any:
        """Give some outcomes, or all, in one of the ways that there are."""
        r = self.r
        some = r.sample(list(waits), r.randrange(1, len(waits) + 1))
        results = [self._outcome(call) for call in some]
        if r.random() < 0.25:
            more = [TextBlock(f"{self.mark} adds a word")] if r.random() < 0.5 else []
            return ToolResultMessage(content=[*results, *more])
        return ExternalResults(results)

    def _outcome(self, call: ToolUseBlock) -> ToolResultBlock:
        key = str(call.input.get("key"))
        self.outcomes.add(key)
        states = [ToolResultState.SUCCESS, ToolResultState.RUNNING, ToolResultState.ERROR]
        text = TextBlock(f"{key} outcome")
        return ToolResultBlock(call.id, call.name, (text,), state=self.r.choice(states))

    def wrong_outcomes(self, waits: Calls) -> Any:
        """Give an outcome twice, none, one too many, one for another reply, or an answer."""
        one = ToolResultBlock.text("out", id=waits[0].id)
        wrong = [
            ExternalResults([one, one]),
            ExternalResults([]),
            ExternalResults([one, ToolResultBlock.text("out", id=f"{self.mark} invented")]),
            ExternalResults([one], f"{self.mark} stale"),
            ConfirmResults([ConfirmResult(True, waits[0])]),
        ]
        return self.r.choice(wrong)
