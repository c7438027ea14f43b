"""What a provider says when it fails, and which exception that is: one table for all of them. Pure.

An error comes as a status with a body, or inside a stream that began well; the same words mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from agentscope_rx._json import dumps, loads
from agentscope_rx.errors import (
    ContentFilterError,
    ContextTooLongError,
    ModelHTTPError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)

__all__ = ["Said", "cause_of", "failed", "held_back", "read_error", "remedy_for"]

_SHOWN: Final = 1000
"""Characters of what a provider says in an error's message."""

_RAW_SHOWN: Final = 300
"""The same of what is no error object."""

_Cause: TypeAlias = type[ModelResponseError]

_WORDS: Final[Mapping[_Cause, str]] = {
    ContentFilterError: """
        content_filter content_filtered contentfilter content_policy_violation responsibleaipolicyviolation
        datainspectionfailed data_inspection_failed invalid_prompt sensitive safety image_safety
        prohibited_content recitation blocklist spii refusal 1301
        image_content_policy_violation bio_policy cyber_policy misalignment_policy_violation
    """,
    ContextTooLongError: """
        context_length_exceeded context_window_exceeded model_context_window_exceeded
        exceed_context_size_error request_too_large string_above_max_length
    """,
    RateLimitedError: """
        rate_limit_error rate_limit_exceeded rate_limit_reached_error rate_limited rate_limit
        too_many_requests toomanyrequests resource_exhausted insufficient_quota
        throttling limitrequests limit_requests exceeded_current_quota_error 1302 1303
    """,
    OverloadedError: """
        overloaded_error overloaded server_overloaded engine_overloaded engine_overloaded_error unavailable
        service_unavailable service_unavailable_error serviceunavailable modelserviceunavailable
        model_overloaded server_is_overloaded slow_down 1305
    """,
}  # fmt: skip
_CAUSES: Final = {word: cause for cause, words in _WORDS.items() for word in words.split()}

_STATUSES: Final[Mapping[int, _Cause]] = {
    413: ContextTooLongError,
    429: RateLimitedError,
    503: OverloadedError,
    529: OverloadedError,
}
_WORD_STATUSES: Final[Mapping[str, int]] = {
    "overloaded_error": 529,
    "request_too_large": 413,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "internalerror": 500,
    "systemerror": 500,
    "internal": 500,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "requesttimeout": 504,
    "internalerror.timeout": 504,
    "bad_gateway": 502,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "invalidapikey": 401,
    "unauthenticated": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "accessdenied": 403,
    "model.accessdenied": 403,
    "not_found_error": 404,
    "not_found": 404,
    "model_not_found": 404,
    "modelnotfound": 404,
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "invalidparameter": 400,
    "arrearage": 400,
}

_CAUSE_REMEDIES: Final[Mapping[_Cause, str]] = {
    ContextTooLongError: "send a shorter conversation",
    ContentFilterError: "ask in other words",
    RateLimitedError: "ask less often",
}
_STATUS_REMEDIES: Final[Mapping[int, str]] = {
    401: "check the API key",
    403: "check the API key and what it may do",
    404: "check base_url and the model's name",
}

_MAY_BE_TOO_LONG: Final = frozenset({0, 400, 413, 422, 500})
_TOO_LONG: Final = re.compile(
    r"maximum context length|context (length|window|size)|prompt is too long|prompt too long"
    r"|input (token count|length).{0,60}(exceed|too long|should be)|too many (input )?tokens"
    r"|input is too long|exceeds? the (model's )?max(imum)? (number of )?(input )?(tokens|length)"
    r"|reduce the length of the (messages|prompt)",
    re.IGNORECASE,
)


_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s", re.ASCII)
_TIME: Final = r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h)"
_LATER: Final = re.compile(r"(?:try again in|retry after) ((?:[0-9.]+ ?(?:ms|s|m|h))+)", re.IGNORECASE)
_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


class Said(NamedTuple):
    """An error as a provider tells it; what it leaves out is empty.

    `retry_after` is None, or the seconds that the provider wants to be left alone.
    """

    text: str = ""
    type: str = ""
    code: str = ""
    request_id: str = ""
    retry_after: float | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What may name the cause; of `Throttling.RateQuota`, also what stands before the point."""
        words = [word.lower() for word in (self.code, self.type) if word]
        return tuple(form for word in words for form in dict.fromkeys((word, word.partition(".")[0])))


def read_error(value: Any) -> Said:
    """Read an error object in any of its shapes, the body that has one in it, or a bare text."""
    if isinstance(value, str):
        return _read_text(value)
    if isinstance(value, list) and value:
        return read_error(value[0])  # pyright: ignore[reportUnknownArgumentType] - Gemini's, where it does not stream
    request_id, fields = "", cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    while fields:
        request_id = _text(fields.get("request_id")) or request_id
        inner = fields.get("error") or fields.get("detail")
        if isinstance(inner, str) and not fields.get("message"):
            return Said(inner[:_SHOWN], _label(fields, "type"), _label(fields, "code", "status"), request_id)
        if not isinstance(inner, dict):
            break
        fields = cast("dict[str, Any]", inner)
    if not fields:
        return Said("" if value is None else _written(value)[:_RAW_SHOWN])
    text = _text(fields.get("message")) or _text(fields.get("msg"))
    shown = text[:_SHOWN] or dumps(fields).decode()[:_RAW_SHOWN]
    wait = _wait(fields.get("details"))
    wait = _wait_in(text) if wait is None else wait
    return Said(shown, _label(fields, "type", "status"), _label(fields, "code"), request_id, wait)


def _wait(details: Any) -> float | None:
    """The seconds in Google's details of an error: `{"retryDelay": "34.5s"}` among others."""
    delays = (each.get("retryDelay") for each in _objects(details))
    found = (_SECONDS.fullmatch(delay) for delay in delays if isinstance(delay, str))
    return next((float(match[1]) for match in found if match), None)


def _wait_in(text: str) -> float | None:
    """The seconds in words: `try again in 1.5s`, `try again in 6m0s`, `retry after 26 seconds`."""
    found = _LATER.search(text)
    if found is None:
        return None
    times = re.findall(_TIME, found[1], re.IGNORECASE)
    return round(sum(float(number) * _UNITS[unit.lower()] for number, unit in times), 3)


def _objects(values: Any) -> Iterator[dict[str, Any]]:
    for value in cast("list[Any]", values) if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


def _read_text(text: str) -> Said:
    if text.lstrip()[:1] in ("{", "["):
        try:
            value: Any = loads(text)
        except ValueError:
            return Said(" ".join(text.split())[:_RAW_SHOWN])
        return read_error(value)
    return Said(" ".join(text.split())[:_RAW_SHOWN])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _label(fields: Mapping[str, Any], *keys: str) -> str:
    """The first of some entries that names the error; `error` says only that it is one."""
    values = (fields.get(key) for key in keys)
    return next((str(value) for value in values if value and value != "error"), "")


def cause_of(said: Said, status: int = 0) -> tuple[type[ModelResponseError], int]:
    """Return the class of an error, and its status.

    1. What the provider calls it (`code`, `type`) says the class; else words about the length of the
       conversation; else the status.
    2. An error inside a stream, where `status` is 0, has the status that its code or type stands for.
    """
    cause = next((_CAUSES[word] for word in said.words if word in _CAUSES), None)
    if cause is None and status in _MAY_BE_TOO_LONG and _TOO_LONG.search(said.text):
        cause = ContextTooLongError
    meant = status or _status_of(said)
    cause = cause or _STATUSES.get(meant) or (ModelHTTPError if status else ModelResponseError)
    return cause, meant or cause.default_status


def _status_of(said: Said) -> int:
    numbers = [int(word) for word in said.words if re.fullmatch("[45][0-9]{2}", word)]
    named = [_WORD_STATUSES[word] for word in said.words if word in _WORD_STATUSES]
    return next(iter(numbers + named), 0)


def remedy_for(cause: type[ModelResponseError], status: int) -> str:
    """Return what may help; empty if nothing is known."""
    later = "try again later" if status >= 500 else ""
    return _CAUSE_REMEDIES.get(cause) or _STATUS_REMEDIES.get(status, later)


def failed(name: str, error: Any) -> ModelResponseError:
    """Return the exception for an error object inside a stream of `name`, or for the text of one."""
    said = read_error(error)
    cause, status = cause_of(said)
    labels = [label for label in (said.type, said.code) if label]
    shown = said.text + (f" ({', '.join(labels)})" if labels else "")
    return cause(
        f"{name} failed while it answered: {shown}",
        status=status,
        type=said.type,
        code=said.code,
        body=error if isinstance(error, str) else _written(error),
        request_id=said.request_id,
        retry_after=said.retry_after,
    )


def held_back(name: str, reason: str, explanation: str = "") -> ContentFilterError:
    """Return the exception for an answer that the provider cut off for its content; `reason` is its word."""
    said = f"{reason} ({explanation[:_SHOWN].rstrip('. ')})" if explanation else reason
    return ContentFilterError(f"{name} held the answer back: {said}; ask in other words", type=reason)


def _written(error: Any) -> str:
    try:
        return dumps(error).decode()
    except ValueError:
        return str(error)
