"""A tool is called as its function, with its types; bridges keep the types of their items."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, assert_type

from reactivex import Observable

from agentscope_rx.interop.asyncio import from_async_iterable, from_coroutine, to_async_iterable
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.permission import PermissionContextState, PermissionDecision, decide
from agentscope_rx.tool import Injected, Retry, Tool, external_tool, tool


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tool(name="save_file", timeout=3)
async def save(path: str) -> bytes:
    return path.encode()


def careful(input: Mapping[str, Any], context: PermissionContextState) -> PermissionDecision | None:
    return PermissionDecision.ask("Sure?") if input["path"] else None


@tool(check_permission=careful, path_arguments=["path"])
def delete(path: str) -> None: ...


class Db: ...


@tool(retry=Retry(2, on=OSError), max_output=1000, converter=str.upper)
def find(query: str, db: Db, limit: Annotated[int, Injected] = 3) -> str:
    return query


class Counter:
    @tool
    def up(self, times: int) -> str:
        return str(times)


async def ticks() -> AsyncIterator[int]:
    yield 1


async def one() -> str:
    return "one"


assert_type(add(1, b=2), int)
assert_type(Counter().up(3), str)
assert_type(find("x", Db()), str)
assert_type(add.preset(b=2), Tool[..., int])
assert_type(add.preset(b=2)(1), int)
assert_type(external_tool("pay", "Pay."), Tool[..., Any])
assert_type(decide(ToolUseBlock("c", "delete"), delete, PermissionContextState()), PermissionDecision)
assert_type(from_async_iterable(ticks), Observable[int])
assert_type(from_coroutine(one), Observable[str])


async def read() -> None:
    assert_type(await save("x"), bytes)
    async with to_async_iterable(from_async_iterable(ticks)) as items:
        async for item in items:
            assert_type(item, int)


add("1")  # type: ignore  # pyright: ignore[reportArgumentType]
Counter().up()  # type: ignore  # pyright: ignore[reportCallIssue]
