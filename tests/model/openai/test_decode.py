"""Chunks of chat completions, as many servers send them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from agentscope_rx._frames import Frame, SSEReader
from agentscope_rx.errors import BadModelOutputError, IncompleteStreamError, ModelResponseError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, ThinkingBlock, URLSource
from agentscope_rx.model import ChatResponse, ToolCallChunk
from agentscope_rx.model.openai._decode import ChunkDecoder, decode_chunk
from tests.model.provider_cases import cases, check, chunks_of


def decode(chunks: Iterable[bytes]) -> Iterator[ChatResponse]:
    reader, decoder = SSEReader(), ChunkDecoder("m")
    for chunk in chunks:
        for frame in reader.feed(chunk):
            if (response := decoder.feed(frame)) is not None:
                yield response
    for frame in reader.close():
        if (response := decoder.feed(frame)) is not None:
            yield response
    decoder.close()


@pytest.mark.parametrize("size", [None, 1, 2, 3, 7, 64])
@pytest.mark.parametrize("case", cases("openai_sse"))
def test_recorded_streams_mean_what_they_say_wherever_they_are_cut(case: dict[str, Any], size: int | None) -> None:
    check(case, decode, chunks_of(case, size))
