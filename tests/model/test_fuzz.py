"""Recorded streams, cut and shuffled: whatever a network or a server does to them, nothing else breaks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentscope_rx.errors import ModelError
from agentscope_rx.event import AgentEvent, AgentStartEvent
from agentscope_rx.message import Msg, ToolUseBlock
from agentscope_rx.model import ReplyIds, to_events
from tests.model.provider import Provider
from tests.model.provider_cases import cases, check_grammar, chunks_of, decode_with, fold, responses
from tests.model.providers import PROVIDERS

LONGEST = 20_000
RECORDED = [
    (provider, case, data)
    for provider in PROVIDERS if provider.kind
    for case in cases(provider.kind) if len(data := b"".join(chunks_of(case))) < LONGEST
]  # fmt: skip

recorded = pytest.mark.parametrize("provider", [p for p in PROVIDERS if p.kind], ids=str)
often = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def read(provider: Provider, case: dict[str, Any], chunks: list[bytes]) -> tuple[Msg, list[Exception]]:
    """What a stream means, and how it fails; its events are well formed either way."""
    decode = decode_with(provider.reader(), provider.decoder(case.get("params", {})))
    events: list[AgentEvent] = [AgentStartEvent("s", "r", "m")]
    errors: list[Exception] = []
    answer = responses(decode, chunks).pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds()))
    answer.subscribe(events.append, errors.append)
    check_grammar(events[1:])
    return fold(events), errors


def streams_of(provider: Provider) -> st.SearchStrategy[tuple[dict[str, Any], bytes]]:
    return st.sampled_from([(case, data) for owner, case, data in RECORDED if owner is provider])


def calls_of(msg: Msg) -> list[tuple[str, Any, bool]]:
    return [(call.name, call.input, call.input_error) for call in msg.get_content_blocks(ToolUseBlock)]


@recorded
@often
@given(data=st.data())
def test_a_stream_that_ends_early_fails_or_says_the_same_calls(
    provider: Provider, data: st.DataObject
) -> None:
    case, whole = data.draw(streams_of(provider))
    cut = data.draw(st.integers(0, len(whole)))
    size = data.draw(st.integers(1, 200))
    part = whole[:cut]

    msg, errors = read(provider, case, [part[at : at + size] for at in range(0, len(part), size)])
    assert all(isinstance(error, ModelError) for error in errors)
    if not errors:
        complete, problems = read(provider, case, [whole])
        assert calls_of(msg) == calls_of(complete)
        assert msg.text_content == complete.text_content or problems


@recorded
@often
@given(data=st.data())
def test_frames_that_are_lost_doubled_or_swapped_are_an_answer_or_a_model_error(
    provider: Provider, data: st.DataObject
) -> None:
    case, whole = data.draw(streams_of(provider))
    pattern = rb"[^\n]*\n" if provider.lines else rb"(?s).*?(?:\r\n\r\n|\n\n|$)"
    frames = [frame for frame in re.findall(pattern, whole) if frame]
    for _ in range(data.draw(st.integers(1, 4))):
        if not frames:
            break
        at, to = (data.draw(st.integers(0, len(frames) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["lose", "double", "swap"])):
            case "lose":
                del frames[at]
            case "double":
                frames.insert(to, frames[at])
            case _:
                frames[at], frames[to] = frames[to], frames[at]

    _, errors = read(provider, case, frames)
    assert all(isinstance(error, ModelError) for error in errors)


@recorded
@often
@given(data=st.data())
def test_bytes_that_are_changed_are_an_answer_or_a_model_error(
    provider: Provider, data: st.DataObject
) -> None:
    case, whole = data.draw(streams_of(provider))
    broken = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        broken = broken or bytearray(b"\n")

    _, errors = read(provider, case, [bytes(broken)])
    assert all(isinstance(error, ModelError) for error in errors)
