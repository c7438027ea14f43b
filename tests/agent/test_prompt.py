"""A conversation as a model may see it, as tables: what is damaged, and what is sent."""

from __future__ import annotations

import itertools

import pytest
from attrs import evolve

from agentscope_rx.agent._prompt import NO_RESULT, PromptCloser, closed
from agentscope_rx.message import (
    AssistantMessage,
    ContentBlock,
    HintBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)

# A conversation in one line: `|` divides messages, `u`, `s`, `a` and `t` say who speaks; `+x` is a call,
# `-x` its result, `?x` one that is still awaited, `~x` one that suspended itself, `!x` the result that says
# that there is none, `h` a hint, and any other word is text.
SPEAKERS = {"u": UserMessage, "s": SystemMessage, "a": AssistantMessage, "t": ToolResultMessage}


def block(word: str) -> ContentBlock:
    id = word[1:]
    match word[0]:
        case "+":
            return ToolUseBlock(id, "f")
        case "-":
            return ToolResultBlock.text(f"result of {id}", id=id, name="f")
        case "?":
            return ToolResultBlock(id, "f")
        case "~":
            return ToolResultBlock.suspended(ToolUseBlock(id, "f"))
        case "h" if word == "h":
            return HintBlock("hint-1", "hurry")
        case _:
            return TextBlock(word)


def conversation(line: str) -> tuple[Msg, ...]:
    spoken = (part.split() for part in line.split("|"))
    return tuple(SPEAKERS[who](content=list(map(block, words))) for who, *words in spoken)


def told(messages: tuple[Msg, ...]) -> str:
    return " | ".join(" ".join([speaker(msg), *map(word, msg.content)]) for msg in messages)


def speaker(msg: Msg) -> str:
    return next(letter for letter, cls in SPEAKERS.items() if isinstance(msg, cls))


def word(block: ContentBlock) -> str:
    match block:
        case ToolUseBlock():
            return f"+{block.id}"
        case ToolResultBlock(state=ToolResultState.INTERRUPTED):
            assert (block.name, block.text_content) == ("f", NO_RESULT)
            return f"!{block.id}"
        case ToolResultBlock():
            return f"-{block.id}"
        case HintBlock():
            return "h"
        case _:
            assert isinstance(block, TextBlock)
            return block.text


WHOLE = [
    "u hi",
    "s be-kind | u hi | a hello | u bye",
    "a +x -x done",
    "a let-me-see +x +y -y -x and +z -z done",
    "a +x -x +y -y",
    "a before +x after -x done",
    "a +x -x h +y -y",
    "a +x | t -x | a done",
    "a +x +y | t -x | t -y | a done | u bye",
    "a +x -x | u again | a +x -x",
    "a +x -x +x -x",
    "a",
    "u",
    "",
]


@pytest.mark.parametrize("line", WHOLE)
def test_what_is_whole_stays_as_it_is(line: str) -> None:
    messages = conversation(line) if line else ()

    assert closed(messages) is messages
    assert PromptCloser()(messages) is messages


@pytest.mark.parametrize(
    ("damaged", "sent"),
    [
        # calls without a result
        ("a +x | u hi", "a +x !x | u hi"),
        ("a +x", "a +x !x"),
        ("a +x +y -y done", "a +x +y -y !x done"),
        ("a +x +y -y +z -z", "a +x +y -y !x +z -z"),
        ("a pre +x post | u hi", "a pre +x post !x | u hi"),
        ("a +x h go-on", "a +x !x h go-on"),
        ("a +x | a done", "a +x !x | a done"),
        ("a +x | s be-kind", "a +x !x | s be-kind"),
        ("a +x +y | t -x | u hi", "a +x +y | t -x !y | u hi"),
        ("a +x +y", "a +x +y !x !y"),
        ("a +x -x | u again | a +x", "a +x -x | u again | a +x !x"),
        # results that are none
        ("a +x ?x | u hi", "a +x !x | u hi"),
        ("a +x ~x", "a +x !x"),
        ("a +x | t ~x | t -x", "a +x | t -x"),
        ("a +x ?x -x done", "a +x -x done"),
        # results without a call
        ("a -x done", "a done"),
        ("u hi | t -x | u bye", "u hi | u bye"),
        ("t -x", ""),
        ("a -x +x", "a +x !x"),
        ("a +x -x -x", "a +x -x"),
        ("a +x -x | t -x -y | u hi", "a +x -x | u hi"),
        # results at the wrong place
        ("a +x | u hi | t -x | a done", "a +x -x | u hi | a done"),
        ("a +x h -x done", "a +x -x h done"),
        ("a +x +y -x waiting | u so? | t -y", "a +x +y -x -y waiting | u so?"),
        ("a +x +y -y +z -z -x", "a +x +y -y -x +z -z"),
        ("a +x | a hello | t -x", "a +x -x | a hello"),
        # an id that comes again
        ("a +x | u again | a +x -x", "a +x !x | u again | a +x -x"),
        ("a +x +x -x", "a +x +x -x !x"),
    ],
)
def test_every_call_has_one_result_behind_it(damaged: str, sent: str) -> None:
    messages = conversation(damaged)
    before = told(messages)

    assert told(closed(messages)) == told(PromptCloser()(messages)) == sent
    assert told(messages) == before
    assert closed(closed(messages)) is not messages
    assert PromptCloser()(closed(messages)) == closed(messages)


def test_what_is_changed_keeps_its_id_and_the_rest_is_the_same_object() -> None:
    first, second, third = conversation("u hi | a +x | u bye")
    result = closed((first, second, third))

    assert result[0] is first
    assert result[2] is third
    assert evolve(result[1], content=second.content) == second


def test_a_prompt_that_grows_is_looked_at_from_where_it_was_whole() -> None:
    closing = PromptCloser()
    reply = AssistantMessage()
    words: list[ContentBlock] = []
    for number in range(5):
        words += map(block, [f"+{number}", f"-{number}"])
        assert closing((grown := evolve(reply, content=words),)) == (grown,)

    cut = evolve(reply, content=[*words[:3], *words[4:]])
    assert told(closing((cut,))) == "a +0 -0 +1 +2 -2 !1 +3 -3 +4 -4"
    assert told(closing((evolve(reply, content=[*words, block("+9")]),))).endswith("-4 +9 !9")


def test_whatever_is_cut_out_of_a_reply_each_call_has_a_result_and_all_else_keeps_its_order() -> None:
    words = ["one", "+x", "+y", "-y", "-x", "h", "+z", "two", "-z", "three"]
    for size in range(len(words) + 1):
        for kept in itertools.combinations(words, size):
            result = closed((AssistantMessage(content=list(map(block, kept))),))

            assert PromptCloser()(result) is result
            said = [word(each) for msg in result for each in msg.content]
            assert [each for each in said if each[0] not in "-!"] == [each for each in kept if each[0] != "-"]
            answered = sorted(each[1:] for each in said if each[0] in "-!")
            assert answered == [each[1:] for each in kept if each[0] == "+"]
