"""What a test of all providers must know of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from agentscope_rx._frames import FrameReader, NDJSONReader, SSEReader
from agentscope_rx.model import ChatModel
from agentscope_rx.model._provider import Decoder

__all__ = ["CITY", "KEY", "Provider", "SdkCall"]

KEY = "sk-very-secret-0123456789"

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
"""The parameters of `get_weather`, in the conversation that the SDK has, too."""

SdkCall: TypeAlias = Callable[[str], Awaitable[None]]
"""Has the conversation of `tests.model.test_contract` by the official SDK with the server at an address, with
`KEY` and the model's name of the provider; reads the answer to its end."""


@frozen
class Provider:
    """A row of the contract.

    Attributes:
        name: before the colon of a model's id.
        model: a name of a model that the simulator takes for this provider's.
        kind: of the recorded streams; empty if there are none.
        make: the model at an address, with `KEY`.
        decoder: a decoder, for the `params` of a recorded stream.
        finish: frames, or lines, of an answer that says `a` in the first, and is whole with the last.
        lines: whether it streams NDJSON.
        path: of its API on the simulator, as `/v1`; None if the simulator does not speak it.
        thinker: a name of a model whose thinking the simulator sends; empty if it does not.
        counts: whether the simulator counts its tokens.
        sdk: None if there is no official SDK.
        sdk_lacks: what we send and the official SDK does not, by its place in the body, with the reason; `*`
            stands for the items of a list.
        sdk_spells: keys that the official SDK writes as the server also knows them: theirs, and ours.
    """

    name: str
    model: str
    kind: str
    make: Callable[..., ChatModel]
    decoder: Callable[[Mapping[str, Any]], Decoder]
    finish: tuple[Mapping[str, Any] | str, ...]
    lines: bool = False
    path: str | None = "/v1"
    thinker: str = ""
    counts: bool = True
    sdk: SdkCall | None = None
    sdk_lacks: Mapping[str, str] = {}
    sdk_spells: Mapping[str, str] = {}

    def reader(self) -> FrameReader:
        """Return what cuts its bytes into frames."""
        return NDJSONReader() if self.lines else SSEReader()

    def __str__(self) -> str:
        return self.name
