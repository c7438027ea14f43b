"""The tree of exceptions: as drawn, with fields that survive pickling, and messages that name values."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

from agentscope_rx import errors
from agentscope_rx.errors import (
    AgentScopeError,
    ConfigurationError,
    ContentFilterError,
    ContextTooLongError,
    MiddlewareProtocolWarning,
    ModelHTTPError,
    ModelResponseError,
    NotAnEventError,
    OpenCallsError,
    OverloadedError,
    RateLimitedError,
    RunInsideLoopError,
    StateConflictError,
    StructuredOutputError,
    ToolArgumentsError,
    ToolSuspendError,
    WireError,
)

ERRORS = [getattr(errors, name) for name in errors.__all__ if name != "MiddlewareProtocolWarning"]


def test_the_docstring_draws_the_tree() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"( *)(?:[x+.-] )?(\w+Error)\b", line):
            depth = len(match[1]) // 2
            path[depth:] = [match[2]]
            drawn[match[2]] = path[depth - 1] if depth else "Exception"

    assert drawn == {cls.__name__: cls.__mro__[1].__name__ for cls in ERRORS}


def test_every_error_is_ours_and_some_are_pythons_too() -> None:
    assert all(issubclass(cls, AgentScopeError) for cls in ERRORS)
    assert issubclass(ConfigurationError, ValueError)
    assert issubclass(WireError, ValueError)
    assert issubclass(NotAnEventError, TypeError)
    assert issubclass(RunInsideLoopError, RuntimeError)
    assert issubclass(MiddlewareProtocolWarning, UserWarning)


SAMPLES = [
    ModelHTTPError("no", status=500, body="{}", request_id="r"),
    RateLimitedError("slow down", body="{}", retry_after=1.5),
    ModelResponseError("down", type="server_error", code="E1"),
    OverloadedError("later", status=529),
    ContextTooLongError("too long", code="context_length_exceeded"),
    ContentFilterError("no", type="content_filter"),
    WireError("expected str, got int", "$.toolCalls[1].id"),
    ToolArgumentsError("no city", path="$.city"),
    ToolSuspendError("waits for the bank"),
    OpenCallsError(("call-1", "call-2")),
    StructuredOutputError("no city", path="$.city"),
    StateConflictError("too late", expected="a", found="b"),
    *(
        cls("why")
        for cls in ERRORS
        if not inspect.signature(cls.__init__).parameters.keys() - {"self", "args", "kwargs"}
    ),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_and_copying_with_their_fields(error: AgentScopeError) -> None:
    error = copy.copy(error)
    error.partial = "half"
    error.add_note("while testing")

    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_partial_is_none_unless_a_call_failed_half_way() -> None:
    assert AgentScopeError("x").partial is None


def test_messages_name_the_values_and_the_way_on() -> None:
    assert str(WireError("expected str, got int", "$.id")) == "$.id: expected str, got int"
    assert str(OpenCallsError(("call-1", "call-2"))) == (
        "tool calls are open: call-1, call-2. Answer them (ConfirmResults or ExternalResults), "
        "go on with them (call with None), or interrupt the session"
    )


def test_an_error_that_says_no_status_has_the_one_that_it_stands_for() -> None:
    errors = [
        ModelResponseError("x"), RateLimitedError("x"), OverloadedError("x"), ContextTooLongError("x"),
        ContentFilterError("x"), OverloadedError("x", status=529),
    ]  # fmt: skip

    assert [error.status for error in errors] == [0, 429, 503, 400, 400, 529]
