"""Every exception of agentscope_rx, as one tree.

AgentScopeError
  x ConfigurationError(ValueError)   a wrong argument; raised at the line that is wrong, never on a stream
  x ProtocolError                    a stream broke the event grammar (only `well_formed()` says so)
    + OrphanEventError               a delta or an End without its Start
    + UnclosedBlockError             a Start without its End
    + ReplyMismatchError             an event of another reply, or outside AgentStart … AgentEnd
    + NotAnEventError(TypeError)     something that is no AgentEvent
  x WireError(ValueError)            JSON that is no event or message; carries `path`
  x ModelError                       a model call failed; `partial` holds what had arrived
    + ModelConnectionError           the server cannot be reached, or the connection broke
    + ModelTimeoutError              nothing arrived for too long
    + ModelResponseError             the server says that it failed, also inside a stream; carries `status`,
                                     `type`, `code`, `body`, `request_id`, `retry_after`
      - ModelHTTPError               an error with an HTTP status
        . RateLimitedError           asked too often: 429
        . OverloadedError            the server has too much to do: 503, 529
        . ContextTooLongError        the conversation does not fit the model
        . ContentFilterError         the provider held the answer back, or refused the question
    + IncompleteStreamError          the stream ended without saying so
    + BadModelOutputError            bytes that are not the provider's format
  x ToolError                        the tool layer itself is broken (a failing tool is a result)
    + ToolNotFoundError
    + ToolArgumentsError             arguments that do not fit; carries `path`
    + ToolSuspendError               raised by a tool: its outcome comes from outside; carries `reason`
    + ToolTimeoutError
  x OpenCallsError                   ordinary input while tool calls are open; names them and the ways on
  x AnswerError(ValueError)          answers that do not fit the questions; carries `tool_call_ids`
  x StructuredOutputError            no structured output, or one that does not fit; carries `path`
  x SessionBusyError                 a call waits for its own session
  x StateError                       a store of sessions failed, or is closed
    + StateLoadError                 what is stored cannot be read; it is never taken for an empty session
    + StateSaveError                 it could not be written; nothing is lost of what was stored before
    + StateConflictError             somebody else has saved since; carries `expected` and `found`
  x LogError                         a log of events failed, or is closed
    + LogReadError                   what is written cannot be read
    + LogAppendError                 it could not be written, or nobody has confirmed that it was
    + LogConflictError               somebody else has written since; carries `expected` and `found`
  x ProcessLostError                 the process that a call ran in is gone; only its `AgentEnd` says so
  x RunInsideLoopError(RuntimeError) `.run()` inside a running event loop
  x InternalError                    our bug; please report it

MiddlewareProtocolWarning(UserWarning)  a middleware broke the event grammar and was put right

`asyncio.CancelledError`, `KeyboardInterrupt` and `MemoryError` are never turned into one of these.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "AgentScopeError",
    "AnswerError",
    "BadModelOutputError",
    "ConfigurationError",
    "ContentFilterError",
    "ContextTooLongError",
    "IncompleteStreamError",
    "InternalError",
    "LogAppendError",
    "LogConflictError",
    "LogError",
    "LogReadError",
    "MiddlewareProtocolWarning",
    "ModelConnectionError",
    "ModelError",
    "ModelHTTPError",
    "ModelResponseError",
    "ModelTimeoutError",
    "NotAnEventError",
    "OpenCallsError",
    "OrphanEventError",
    "OverloadedError",
    "ProcessLostError",
    "ProtocolError",
    "RateLimitedError",
    "ReplyMismatchError",
    "RunInsideLoopError",
    "SessionBusyError",
    "StateConflictError",
    "StateError",
    "StateLoadError",
    "StateSaveError",
    "StructuredOutputError",
    "ToolArgumentsError",
    "ToolError",
    "ToolNotFoundError",
    "ToolSuspendError",
    "ToolTimeoutError",
    "UnclosedBlockError",
    "WireError",
]


class AgentScopeError(Exception):
    """Whatever agentscope_rx raises or sends through `on_error`; survives pickling with its fields."""

    partial: Any = None
    """The `Msg` that the events before the failure make, if a call failed half-way; else None."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), self.__dict__


def _restored(cls: type[AgentScopeError], args: tuple[Any, ...]) -> AgentScopeError:
    return cls.__new__(cls, *args)


class ConfigurationError(AgentScopeError, ValueError):
    """A constructor or operator was given an argument that it cannot work with."""


class ProtocolError(AgentScopeError):
    """A stream of events broke the Start → delta → End grammar."""


class OrphanEventError(ProtocolError):
    """A delta or an End came without its Start."""


class UnclosedBlockError(ProtocolError):
    """A block, a model call or a reply was never ended."""


class ReplyMismatchError(ProtocolError):
    """An event named another reply than the one that is running, or none was running."""


class NotAnEventError(ProtocolError, TypeError):
    """A stream of events carried something else."""


class WireError(AgentScopeError, ValueError):
    """JSON that does not say an event or a message; `path` is where, as `$.toolCalls[1].id`."""

    def __init__(self, problem: str, path: str = "$") -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class ModelError(AgentScopeError):
    """A model call failed."""


class ModelConnectionError(ModelError):
    """The model's server could not be reached, or the connection broke while it answered."""


class ModelTimeoutError(ModelError):
    """The model's server said nothing for longer than the time allowed."""


class ModelResponseError(ModelError):
    """The model's server said that it failed.

    Attributes:
        status: the HTTP status; of an error inside a stream, the one that its type stands for; 0 if there is
            none.
        type, code: what the provider calls the error; empty if it did not say.
        body: what it sent.
        request_id: the provider's name of the request, for its support.
        retry_after: seconds that the server wants to be left alone; None if it did not say.
    """

    default_status = 0

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str = "",
        code: str = "",
        body: str = "",
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = self.default_status if status is None else status
        self.type = type
        self.code = code
        self.body = body
        self.request_id = request_id
        self.retry_after = retry_after


class ModelHTTPError(ModelResponseError):
    """The model's server answered with an error status, or with an error that stands for one."""


class RateLimitedError(ModelHTTPError):
    """The model was asked too often, or for too much at a time."""

    default_status = 429


class OverloadedError(ModelHTTPError):
    """The model's server has too much to do; it may be better later."""

    default_status = 503


class ContextTooLongError(ModelHTTPError):
    """The conversation, with what is to be answered, is longer than the model takes."""

    default_status = 400


class ContentFilterError(ModelHTTPError):
    """The provider held the answer back, or did not take the question, for what stands in it."""

    default_status = 400


class IncompleteStreamError(ModelError):
    """The stream of a model call ended without a finish."""


class BadModelOutputError(ModelError):
    """The stream of a model call is not in the provider's format."""


class ToolError(AgentScopeError):
    """The tool layer failed (a tool that fails is a result with state `error`)."""


class ToolNotFoundError(ToolError):
    """No tool of that name is registered."""


class ToolArgumentsError(ToolError):
    """The arguments of a tool call do not fit its parameters; `path` is where, as `$.city`."""

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class ToolSuspendError(ToolError):
    """A tool raises it to suspend its call: the outcome comes from outside; `reason` says why."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class ToolTimeoutError(ToolError):
    """A tool took longer than the time allowed."""


class OpenCallsError(AgentScopeError):
    """Ordinary input came while tool calls of the last reply are open; `tool_call_ids` names them."""

    def __init__(self, tool_call_ids: tuple[str, ...]) -> None:
        super().__init__(tool_call_ids)
        self.tool_call_ids = tool_call_ids

    def __str__(self) -> str:
        names = ", ".join(self.tool_call_ids)
        return (
            f"tool calls are open: {names}. Answer them (ConfirmResults or ExternalResults), "
            "go on with them (call with None), or interrupt the session"
        )


class AnswerError(AgentScopeError, ValueError):
    """Answers or outcomes that do not fit what is asked; nothing has changed."""

    def __init__(self, problem: str, tool_call_ids: tuple[str, ...] = ()) -> None:
        super().__init__(problem, tool_call_ids)
        self.problem = problem
        self.tool_call_ids = tool_call_ids

    def __str__(self) -> str:
        return self.problem


class StructuredOutputError(AgentScopeError):
    """There is no structured output, or it does not fit; `path` is where, as `$.items[2].price`."""

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class SessionBusyError(AgentScopeError):
    """A call waits for a session that cannot become free before the call itself has ended."""


class StateError(AgentScopeError):
    """A store of sessions failed, or was used after it was closed."""


class StateLoadError(StateError):
    """What is stored of a session cannot be read; nothing takes it for an empty session."""


class StateSaveError(StateError):
    """A session could not be stored; nothing is lost of what was stored before."""


class StateConflictError(StateError):
    """Somebody else has stored the session since it was loaded; `expected` and `found` are the versions."""

    def __init__(self, message: str, *, expected: str, found: str) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class LogError(AgentScopeError):
    """A log of events failed, or was used after it was closed."""


class LogReadError(LogError):
    """What is written in a log cannot be read."""


class LogAppendError(LogError):
    """Events could not be written, or have been and nobody has confirmed it; the log has all or none."""


class LogConflictError(LogError):
    """Somebody else has written to the stream; `expected` and `found` are the cursors of its last event."""

    def __init__(self, message: str, *, expected: str, found: str) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class ProcessLostError(AgentScopeError):
    """The process that a call ran in is gone, and the call with it; what had happened is kept."""


class RunInsideLoopError(AgentScopeError, RuntimeError):
    """`.run()` was used where an event loop is running."""


class InternalError(AgentScopeError):
    """This should never happen: please report it with the traceback."""


class MiddlewareProtocolWarning(UserWarning):
    """A middleware broke the event grammar; the guard put it right."""
