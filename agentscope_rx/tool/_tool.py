"""A tool: a function, and what a model must know to call it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import WRAPPER_ASSIGNMENTS
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast, final, overload

from attrs import Attribute, evolve, field, frozen

from agentscope_rx._check import a, a_bool, a_str
from agentscope_rx._frozen import freeze
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.tool._schema import Signature, describe, read_signature, schema_of

__all__ = ["Tool", "tool"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _a_name(_: object, __: Attribute[Any], name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is no name for a tool: use 1 to 64 letters, digits, - and _, as @tool(name='search')"
        )


def _a_timeout(owner: Tool[..., Any], _: object, timeout: float | None) -> None:
    if timeout is not None and not timeout > 0:
        raise ConfigurationError(
            f"the timeout of tool {owner.name!r} is {timeout!r}; give seconds above 0, or None"
        )


@final
@final
@frozen(slots=False)
class Tool(Generic[P, R]):
    """A tool, as `@tool` makes it; it is called as the function that it was made of.

    Attributes:
        name, description, parameters: what the model sees; `parameters` is a JSON schema of an object.
        function: what is called.
        signature: how the model's arguments become the function's.
        read_only: whether it changes nothing.
        concurrency_safe: whether it may run beside others.
        timeout: seconds that it may take; None is no limit.
        strict: whether the provider shall hold the model to the schema; None leaves it to the provider.
    """

    name: str = field(validator=_a_name)
    description: str = field(validator=a_str, repr=False)
    parameters: Mapping[str, Any] = field(converter=freeze, hash=False, repr=False)
    function: Callable[P, R] = field(repr=False)
    signature: Signature = field(default=Signature(open=True), hash=False, repr=False)
    read_only: bool = field(default=False, kw_only=True, validator=a_bool)
    concurrency_safe: bool = field(default=True, kw_only=True, validator=a_bool)
    timeout: float | None = field(default=None, kw_only=True, validator=[a(int, float, None), _a_timeout])
    strict: bool | None = field(default=None, kw_only=True, validator=a(bool, None))

    def __attrs_post_init__(self) -> None:
        taken = {a: getattr(self.function, a) for a in WRAPPER_ASSIGNMENTS if hasattr(self.function, a)}
        self.__dict__.update(taken, __wrapped__=self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Tool[P, R]: ...
    @overload
    def __get__(
        self: Tool[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Tool[Q, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        """Bind a method to its object; a tool that is no method stays as it is."""
        if instance is None or not self.signature.method:
            return self
        bound = cast("Any", self.function).__get__(instance, owner)
        return evolve(self, function=bound, signature=evolve(self.signature, method=False))

    @property
    def schema(self) -> ToolSchema:
        """The tool as the model sees it."""
        return ToolSchema(self.name, self.description, self.parameters, self.strict)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    concurrency_safe: bool = True,
    timeout: float | None = None,
    strict: bool | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    concurrency_safe: bool = True,
    timeout: float | None = None,
    strict: bool | None = None,
) -> Any:
    """Make a tool of a function or method, as `@tool` or `@tool(timeout=30, …)`.

    1. The parameters are read from the type hints; what they are for, from the docstring or from
       `Annotated[str, "the city"]`. Parameters of type `RuntimeContext` and `ToolEmitter` are filled in
       by the call, unseen by the model.
    2. It may be a function, which then runs in a thread of its own; an async function; or a generator of
       either kind, or a function that returns an Observable, of which each item is streamed.
    3. A string that it returns is the result as it is, None is none, content blocks and a
       `ToolResultBlock` are taken as they are, and anything else becomes JSON text.
    4. `timeout` is in seconds.

    Errors: `ConfigurationError` for a parameter without a type hint, or with one that JSON cannot fill.
    """
    # Classes that are defined in the function around the tool are names that only that frame knows.
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    local_names = dict(caller.f_locals)

    def decorate(function: Callable[..., Any]) -> Tool[..., Any]:
        if isinstance(function, Tool):
            raise ConfigurationError(f"{function.name!r} is a tool already: apply @tool once")
        if isinstance(function, staticmethod):
            function = cast("Callable[..., Any]", function.__func__)
        text, descriptions = describe(function)
        signature = read_signature(function, local_names=local_names, descriptions=descriptions)
        chosen = name if name is not None else getattr(function, "__name__", "")
        return Tool(
            chosen,
            text if description is None else description,
            schema_of(signature, chosen),
            function,
            signature,
            read_only=read_only,
            concurrency_safe=concurrency_safe,
            timeout=timeout,
            strict=strict,
        )

    if function is None:
        return decorate
    if not callable(function):
        raise ConfigurationError(f"{function!r} is no function; write @tool above one")
    return decorate(function)
