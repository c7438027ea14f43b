"""When a model is asked again, as tables."""

from typing import Any

import pytest

from agentscope_rx.errors import (
    BadModelOutputError,
    ConfigurationError,
    ContentFilterError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelConnectionError,
    ModelError,
    ModelHTTPError,
    ModelResponseError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.model import backoff, can_pass


def refused(status: int) -> ModelHTTPError:
    return ModelHTTPError("no", status=status)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (RateLimitedError("slow down"), True),
        (ModelConnectionError("the line broke"), True),
        (ModelTimeoutError("silence"), True),
        (IncompleteStreamError("cut"), True),
        (refused(500), True),
        (refused(503), True),
        (refused(529), True),
        (OverloadedError("later"), True),
        (ModelResponseError("down", type="server_error", status=500), True),
        (refused(408), True),
        (ConnectionResetError(), True),  # of a model that others wrote
        (TimeoutError(), True),
        (refused(400), False),
        (refused(401), False),
        (refused(404), False),
        (refused(302), False),
        (ModelResponseError("content filter"), False),
        (ContentFilterError("no", status=500), False),
        (ContextTooLongError("too long", status=500), False),
        (RateLimitedError("no money", code="insufficient_quota"), False),
        (BadModelOutputError("a web page"), False),
        (ConfigurationError("no key"), False),
        (ModelError("the script is over"), False),
        (KeyError("x"), False),
        (FileNotFoundError("x"), False),
    ],
)
def test_only_what_can_pass_is_tried_again(error: Exception, passes: bool) -> None:
    assert can_pass(error) is passes
    assert (backoff(error, 1) is not None) is passes


@pytest.mark.parametrize(
    ("failures", "shortest", "longest"),
    [(1, 0.25, 0.5), (2, 0.5, 1), (3, 1, 2), (7, 15, 30), (2_000, 15, 30)],
)
def test_the_time_doubles_up_to_half_a_minute_and_half_of_it_is_chance(
    failures: int, shortest: float, longest: float
) -> None:
    boom = ModelConnectionError("the line broke")

    assert [backoff(boom, failures, lambda: 0.0), backoff(boom, failures, lambda: 1.0)] == [shortest, longest]
    assert shortest <= (backoff(boom, failures) or 0) <= longest


@pytest.mark.parametrize(
    ("asked", "seconds"), [(0.0, 0.0), (0.1, 0.125), (8.0, 8.5), (60.0, 60.5), (60.1, None), (3600.0, None)]
)
def test_a_server_is_left_alone_for_as_long_as_it_asks_unless_that_is_too_long(
    asked: float, seconds: Any
) -> None:
    limited = RateLimitedError("slow down", retry_after=asked)

    assert backoff(limited, 1, lambda: 1.0) == seconds
