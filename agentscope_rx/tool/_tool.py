"""A tool: a function, and what a model must know to call it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import WRAPPER_ASSIGNMENTS
from math import inf
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast, final, overload

from attrs import Attribute, Factory, evolve, field, frozen

from agentscope_rx._check import a, a_bool, a_str, tuple_of
from agentscope_rx._frozen import EMPTY, freeze
from agentscope_rx._repr import Brief
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.model import ToolSchema
from agentscope_rx.permission import (
    DANGEROUS_PATHS,
    CheckPermission,
    MatchRule,
    PermissionDecision,
    PermissionRule,
    SuggestRules,
)
from agentscope_rx.tool._arguments import fixed, readable
from agentscope_rx.tool._inject import UNSET
from agentscope_rx.tool._preset import with_presets, without
from agentscope_rx.tool._retry import Retry
from agentscope_rx.tool._schema import Signature, describe, read_schema, read_signature, schema_of

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


def _a_limit(owner: Tool[..., Any], _: object, limit: float | None) -> None:
    if limit is not None and limit != inf and (type(limit) is not int or limit < 1):
        raise ConfigurationError(
            f"max_output of tool {owner.name!r} is {limit!r}; give characters from 1, or None"
        )


def _its_arguments(owner: Tool[..., Any], attribute: Attribute[Any], names: tuple[str, ...]) -> None:
    known = [p.name for p in owner.signature.judged]
    for name in () if owner.signature.open else names:
        if name not in known:
            raise ConfigurationError(
                f"{attribute.name} of tool {owner.name!r} names {name!r}, which is none of its arguments: "
                f"{', '.join(known) or 'it has none'}"
            )


def _a_converter(owner: Tool[..., Any], _: object, converter: object) -> None:
    if inspect.iscoroutinefunction(converter):
        raise ConfigurationError(
            f"the converter of tool {owner.name!r} is async; give a plain function, and await in the tool"
        )


def _a_function(owner: Tool[..., Any], attribute: Attribute[Any], function: object) -> None:
    if function is not None and not callable(function):
        raise ConfigurationError(
            f"{attribute.name} of tool {owner.name!r} is {function!r}; give a function, or None"
        )


def _of_schema(owner: Tool[..., Any]) -> Signature:
    return read_schema(owner.parameters)


@final
@frozen(slots=False)
class Tool(Brief, Generic[P, R]):
    """A tool, as `@tool` makes it; it is called as the function that it was made of.

    Attributes:
        name, description, parameters: what the model sees; `parameters` is a JSON schema of an object.
        function: what is called.
        signature: how the model's arguments become the function's.
        read_only: whether it changes nothing.
        concurrency_safe: whether it may run beside others.
        timeout: seconds that it may take; None is no limit but the toolkit's, `math.inf` none at all.
        max_output: characters of text that its output may have; None and `math.inf` as for `timeout`.
        retry: what to do when it raises.
        converter: makes of what it returns what the model is to see.
        external: whether it runs elsewhere: a call waits for an outcome from outside.
        strict: whether the provider shall hold the model to the schema; None leaves it to the provider.
        check_permission, match_rule, suggest_rules, path_arguments, rule_arguments, dangerous_paths: what the
            tool has to say about permission; see `tool`.
    """

    name: str = field(validator=_a_name)
    description: str = field(validator=a_str, repr=False)
    parameters: Mapping[str, Any] = field(converter=freeze, hash=False, repr=False)
    function: Callable[P, R] = field(repr=False)
    signature: Signature = field(default=Factory(_of_schema, takes_self=True), hash=False, repr=False)
    read_only: bool = field(default=False, kw_only=True, validator=a_bool)
    concurrency_safe: bool = field(default=True, kw_only=True, validator=a_bool)
    timeout: float | None = field(default=None, kw_only=True, validator=[a(int, float, None), _a_timeout])
    max_output: float | None = field(default=None, kw_only=True, validator=[a(int, float, None), _a_limit])
    retry: Retry | None = field(default=None, kw_only=True, validator=a(Retry, None))
    converter: Callable[[Any], Any] | None = field(
        default=None, kw_only=True, validator=[_a_function, _a_converter]
    )
    external: bool = field(default=False, kw_only=True, validator=a_bool)
    strict: bool | None = field(default=None, kw_only=True, validator=a(bool, None))
    check_permission: CheckPermission | None = field(default=None, kw_only=True, validator=_a_function)
    match_rule: MatchRule | None = field(default=None, kw_only=True, validator=_a_function)
    suggest_rules: SuggestRules | None = field(default=None, kw_only=True, validator=_a_function)
    path_arguments: tuple[str, ...] = field(default=(), kw_only=True, validator=[a(tuple), _its_arguments])
    rule_arguments: tuple[str, ...] = field(default=(), kw_only=True, validator=[a(tuple), _its_arguments])
    dangerous_paths: tuple[str, ...] = field(
        default=DANGEROUS_PATHS, kw_only=True, validator=a(tuple), repr=False
    )

    def __attrs_post_init__(self) -> None:
        taken = {a: getattr(self.function, a) for a in WRAPPER_ASSIGNMENTS if hasattr(self.function, a)}
        self.__dict__.update(taken, __wrapped__=self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        presets = {p.name: fixed(p) for p in self.signature.judged if p.preset is not UNSET}
        return self.function(*args, **{**presets, **kwargs})  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]

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

        def bound(function: Any) -> Any:
            return function.__get__(instance, owner)

        functions = (self.check_permission, self.match_rule, self.suggest_rules, self.converter)
        check, match, suggest, convert = (bound(each) if _takes_self(each) else each for each in functions)
        return evolve(
            self,
            function=bound(self.function),
            signature=evolve(self.signature, method=False),
            check_permission=check,
            match_rule=match,
            suggest_rules=suggest,
            converter=convert,
        )

    def preset(self, values: Mapping[str, Any] = EMPTY, /, **more: Any) -> Tool[..., R]:
        """Return the tool with arguments that the application fixes: `search.preset(limit=5)`.

        1. The model does not see them, and what it says of them all the same does not count.
        2. JSON values are read as the model's are, anew for each call; anything else is passed as it is.
        3. Permission sees them: `arguments` has them as JSON, as far as JSON can hold them.

        Args:
            values: arguments whose names Python does not take as keywords.
            more: the arguments.

        Errors: `ConfigurationError` for a name that is none of the parameters, and for what does not fit.
        """
        signature = with_presets(self.signature, {**values, **more}, self.name)
        hidden = {p.name for p in self.signature.arguments} - {p.name for p in signature.arguments}
        return evolve(self, signature=signature, parameters=without(self.parameters, hidden))

    @property
    def schema(self) -> ToolSchema:
        """The tool as the model sees it."""
        return ToolSchema(self.name, self.description, self.parameters, self.strict)

    def arguments(self, call: ToolUseBlock) -> Mapping[str, Any] | None:
        """Return what a call would run with, as JSON, defaults too; None if its arguments do not fit."""
        return readable(self.signature, call)


def _takes_self(function: Callable[..., Any] | None) -> bool:
    return inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") == "self"


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
    max_output: float | None = None,
    retry: Retry | None = None,
    converter: Callable[..., Any] | None = None,
    external: bool = False,
    strict: bool | None = None,
    check_permission: Callable[..., PermissionDecision | None] | None = None,
    match_rule: Callable[..., bool] | None = None,
    suggest_rules: Callable[..., Iterable[PermissionRule]] | None = None,
    path_arguments: Iterable[str] = (),
    rule_arguments: Iterable[str] = (),
    dangerous_paths: Iterable[str] = DANGEROUS_PATHS,
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
    max_output: float | None = None,
    retry: Retry | None = None,
    converter: Callable[..., Any] | None = None,
    external: bool = False,
    strict: bool | None = None,
    check_permission: Callable[..., PermissionDecision | None] | None = None,
    match_rule: Callable[..., bool] | None = None,
    suggest_rules: Callable[..., Iterable[PermissionRule]] | None = None,
    path_arguments: Iterable[str] = (),
    rule_arguments: Iterable[str] = (),
    dangerous_paths: Iterable[str] = DANGEROUS_PATHS,
) -> Any:
    """Make a tool of a function or method, as `@tool` or `@tool(timeout=30, …)`.

    1. The model is told the function's name, the text of its docstring, and the parameters: they are read
       from the type hints; what each is for, from the docstring or from `Annotated[str, "the city"]`.
    2. Filled in by the call, unseen by the model, are parameters of type `RuntimeContext`, `ToolEmitter`,
       `ToolUseBlock` (the call itself), `AgentState` and `SessionState` (the session's); and of every class
       that JSON cannot hold, the agent's as well: with the object of that type that `ctx.objects` has, or the
       toolkit's `objects`. `X | None` gets None where there is none. `Annotated[X, Injected]` says so of a
       class that JSON can hold, or that is Python's own.
    3. It may be a function, which then runs in a thread of its own; an async function; or a generator of
       either kind, or a function that returns an Observable, of which each item is streamed.
    4. A string that it returns is the result as it is, None is none, content blocks and a
       `ToolResultBlock` are taken as they are, and anything else becomes JSON text. `converter` is given
       what it returns, or each item that it streams, but for None and content blocks, and returns what shall
       stand in its place.
    5. `timeout` is in seconds, over all attempts. `retry` says how often it is tried when it raises, as long
       as it has given nothing. Of a text longer than `max_output` characters the middle is left out, and
       said to be.
    6. `external=True`: it runs elsewhere, and the function only says what the model must give.
       `raise ToolSuspendError("…")` lets one call of any tool wait for an outcome from outside.
    7. `concurrency_safe=False`: it never runs beside another. `strict`: whether the provider shall hold the
       model to the schema.
    8. Permission. `read_only=True`: it changes nothing, and may run unasked. `check_permission(input,
       context)` may return the tool's own `PermissionDecision` of a call. `path_arguments` name all that the
       tool reads or writes: edits inside a working directory can be accepted then, and `dangerous_paths`,
       which you may replace, are asked about in every mode. The content of a rule is about `rule_arguments`,
       as `("command",)`; else about the paths; else about all texts. `match_rule(content, input)` reads it in
       another way, `suggest_rules(input)` suggests other rules. In a class, any of these may take `self`
       first.

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
            max_output=max_output,
            retry=retry,
            converter=converter,
            external=external,
            strict=strict,
            check_permission=check_permission,
            match_rule=match_rule,
            suggest_rules=suggest_rules,
            path_arguments=tuple_of(str, path_arguments),
            rule_arguments=tuple_of(str, rule_arguments),
            dangerous_paths=tuple_of(str, dangerous_paths),
        )

    if function is None:
        return decorate
    if not callable(function):
        raise ConfigurationError(f"{function!r} is no function; write @tool above one")
    return decorate(function)
