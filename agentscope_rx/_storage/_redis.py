"""Connections to a Redis server; needs the extra `redis`."""

from __future__ import annotations

from typing import Any, Final, cast

from agentscope_rx.errors import ConfigurationError

__all__ = ["connect"]

_RETRIES: Final = 3


def connect(who: str, url: str, options: dict[str, Any], **fixed: Any) -> tuple[Any, type[Exception]]:
    """Make a client of bytes, which connects when it is needed; return it and the base of its errors.

    `who` needs it; `options` are the user's, `fixed` are not to be changed.

    Errors: `ConfigurationError` without the extra, or if the client refuses `url`.
    """
    try:
        import redis
        from redis.backoff import ExponentialBackoff
        from redis.retry import Retry
    except ImportError:
        raise ConfigurationError(
            f"{who} needs the client of Redis; pip install 'agentscope_rx[redis]'"
        ) from None
    defaults = {
        "socket_timeout": 10.0,
        "socket_connect_timeout": 5.0,
        "retry": Retry(ExponentialBackoff(cap=1.0, base=0.05), _RETRIES),
    }
    given = defaults | options | {"decode_responses": False} | fixed
    try:
        return cast("Any", redis.Redis).from_url(url, **given), redis.RedisError
    except ValueError as error:
        raise ConfigurationError(f"{url!r} is no address of Redis: {error}") from None
