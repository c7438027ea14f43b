"""What providers say when they fail, and which exception that is, as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import (
    ContentFilterError,
    ContextTooLongError,
    ModelHTTPError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.model import can_pass
from agentscope_rx.model._failure import Said, cause_of, failed, held_back, read_error, remedy_for


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"error": {"message": "m", "type": "t", "code": "c"}}, Said("m", "t", "c")),
        ({"error": {"message": "m", "type": "t", "code": None}}, Said("m", "t")),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"},
            Said("m", "overloaded_error", "", "r"),
        ),
        ({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}},
         Said("m", "RESOURCE_EXHAUSTED", "429")),
        ([{"error": {"code": 429, "message": "m", "status": "S"}}], Said("m", "S", "429")),
        ({"error": {"message": "m", "details": [{"reason": "r"}, None, {"retryDelay": "34.5s"}]}},
         Said("m", retry_after=34.5)),
        ({"error": {"message": "m", "details": [{"retryDelay": "soon"}, {"retryDelay": 3}]}}, Said("m")),
        ({"error": {"message": "m", "details": {"retryDelay": "3s"}}}, Said("m")),
        ({"code": "Throttling", "message": "m", "request_id": "r"}, Said("m", "", "Throttling", "r")),
        ({"error": "m"}, Said("m")),
        ({"error": "m", "status": 503}, Said("m", "", "503")),
        ({"detail": "m"}, Said("m")),
        ({"detail": [{"msg": "m"}]}, Said('{"detail":[{"msg":"m"}]}')),
        ({"error": {"detail": "m"}}, Said("m")),
        ({"msg": "m"}, Said("m")),
        ({"type": "error", "code": "c", "message": "m"}, Said("m", "", "c")),
        ({"x": 1}, Said('{"x":1}')),
        ('{"error": {"message": "m"}}', Said("m")),
        ("plain\n  words", Said("plain words")),
        ('{"cut', Said('{"cut')),
        (3, Said("3")), (["a"], Said("a")), ({}, Said("{}")), ([], Said("[]")), (None, Said()), ("", Said()),
    ],
)  # fmt: skip
def test_errors_are_read_in_all_their_shapes(error: Any, said: Said) -> None:
    assert read_error(error) == said
    if isinstance(error, dict | list):
        assert read_error(json.dumps(error)) == said


@pytest.mark.parametrize(
    ("status", "said", "cause", "meant"),
    [
        (400, Said("m"), ModelHTTPError, 400),
        (401, Said("m", "authentication_error"), ModelHTTPError, 401),
        (429, Said("m"), RateLimitedError, 429),
        (503, Said("m"), OverloadedError, 503),
        (529, Said("m", "overloaded_error"), OverloadedError, 529),
        (500, Said("m"), ModelHTTPError, 500),
        (413, Said("m", "request_too_large"), ContextTooLongError, 413),
        (400, Said("m", "invalid_request_error", "context_length_exceeded"), ContextTooLongError, 400),
        (400, Said("prompt is too long: 200001 tokens > 200000 maximum"), ContextTooLongError, 400),
        (400, Said("This model's maximum context length is 8192 tokens."), ContextTooLongError, 400),
        (400, Said("The input token count (9) exceeds the maximum number of tokens allowed (8).",
                   "INVALID_ARGUMENT"), ContextTooLongError, 400),
        (400, Said("Range of input length should be [1, 98304]", "", "InvalidParameter"),
         ContextTooLongError, 400),
        (404, Said("maximum context length"), ModelHTTPError, 404),
        (400, Said("m", "", "content_filter"), ContentFilterError, 400),
        (400, Said("m", "", "DataInspectionFailed"), ContentFilterError, 400),
        (0, Said("m"), ModelResponseError, 0),
        (0, Said("m", "overloaded_error"), OverloadedError, 529),
        (0, Said("m", "UNAVAILABLE", "503"), OverloadedError, 503),
        (0, Said("m", "", "429"), RateLimitedError, 429),
        (0, Said("m", "RESOURCE_EXHAUSTED"), RateLimitedError, 429),
        (0, Said("m", "", "Throttling.RateQuota"), RateLimitedError, 429),
        (0, Said("m", "", "Throttling.New"), RateLimitedError, 429),
        (0, Said("m", "server_error"), ModelResponseError, 500),
        (0, Said("m", "api_error"), ModelResponseError, 500),
        (0, Said("m", "", "502"), ModelResponseError, 502),
        (0, Said("m", "invalid_request_error", "40"), ModelResponseError, 400),
        (0, Said("prompt is too long"), ContextTooLongError, 400),
        (0, Said("m", "", "DataInspectionFailed"), ContentFilterError, 400),
    ],
)  # fmt: skip
def test_one_table_says_which_exception_an_error_is(
    status: int, said: Said, cause: type[ModelResponseError], meant: int
) -> None:
    assert cause_of(said, status) == (cause, meant)


def test_an_error_in_a_stream_carries_what_the_provider_said() -> None:
    error = failed("m", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})

    assert isinstance(error, OverloadedError)
    assert str(error) == "m failed while it answered: Overloaded (overloaded_error)"
    assert (error.status, error.type, error.code) == (529, "overloaded_error", "")
    assert error.body == '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    assert failed("m", "down").body == "down"
    assert can_pass(error)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.898s. Visit …", 1.898),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1h2m3.5s.", 3723.5),
        ("Rate limit is exceeded. Try again in 26 seconds.", 26),
        ("Please retry after 5 minutes.", 300),
        ("Please try again in a few seconds.", None),
        ("Please try again later.", None),
    ],
)
def test_how_long_a_provider_wants_to_be_left_alone_may_stand_in_its_words(
    text: str, seconds: float | None
) -> None:
    assert failed("m", {"code": "rate_limit_exceeded", "message": text}).retry_after == seconds


def test_an_answer_that_was_held_back_names_the_reason() -> None:
    error = held_back("m", "SAFETY")

    assert isinstance(error, ContentFilterError)
    assert str(error) == "m held the answer back: SAFETY; ask in other words"
    assert error.type == "SAFETY"
    assert not can_pass(error)
    explained = held_back("m", "refusal", "This could do harm.")
    assert str(explained) == "m held the answer back: refusal (This could do harm); ask in other words"
    assert explained.type == "refusal"


@pytest.mark.parametrize(
    ("cause", "status", "words"),
    [
        (ContextTooLongError, 400, "shorter"), (ContentFilterError, 400, "other words"),
        (RateLimitedError, 429, "less often"), (OverloadedError, 503, "later"),
        (ModelHTTPError, 500, "later"),
        (ModelHTTPError, 401, "API key"), (ModelHTTPError, 403, "may do"), (ModelHTTPError, 404, "base_url"),
    ],
)  # fmt: skip
def test_what_may_help_is_said(cause: type[ModelResponseError], status: int, words: str) -> None:
    assert words in remedy_for(cause, status)


def test_nothing_is_advised_where_nothing_is_known() -> None:
    assert remedy_for(ModelHTTPError, 418) == ""
