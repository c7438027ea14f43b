"""Row 19: a provider's stream read, from bytes to what is new in the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentscope_rx._frames import FrameReader, NDJSONReader, SSEReader
from agentscope_rx.message import TextBlock
from agentscope_rx.model import ChatResponse
from agentscope_rx.model._provider import Decoder, decoded
from agentscope_rx.model.anthropic._decode import MessageDecoder
from agentscope_rx.model.dashscope._decode import FrameDecoder
from agentscope_rx.model.gemini._decode import ChunkDecoder as GeminiDecoder
from agentscope_rx.model.ollama._decode import LineDecoder
from agentscope_rx.model.openai._decode import ChunkDecoder
from agentscope_rx.model.openai_responses._decode import ResponseDecoder
from benchmarks._comparison import Comparison, Rival, at_most
from benchmarks._measure import Cost, Effort, best, cpu_time
from benchmarks._profile import hot_spots

__all__ = ["ROWS", "comparisons"]

ROWS = frozenset({19})

_WORD = "token "


@dataclass(frozen=True)
class _Stream:
    """How a provider streams.

    Attributes:
        name: whose stream it is.
        reader: cuts its bytes into frames.
        decoder: makes of frames what is new.
        word: the object of a frame that says one word; some count them.
        end: the object of the frame that ends the answer.
        frame: a frame as it is sent, of an object's JSON.
    """

    name: str
    reader: Callable[[], FrameReader]
    decoder: Callable[[str], Decoder]
    word: Callable[[int], Any]
    end: Any
    frame: Callable[[str], str]


def _openai(_: int) -> Any:
    choice = {"index": 0, "delta": {"content": _WORD}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "object": "chat.completion.chunk"}
    return {**head, "created": 1741569952, "model": "gpt-4o", "choices": [choice]}


def _anthropic(_: int) -> Any:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _WORD}}


def _responses(number: int) -> Any:
    place = {"item_id": "msg_67c9fdcf37fc8190ba82116e33fb28c501b8b0ad", "output_index": 0, "content_index": 0}
    head = {"type": "response.output_text.delta", "sequence_number": number, **place}
    return {**head, "delta": _WORD, "logprobs": [], "obfuscation": "aB3xYz"}


def _dashscope(number: int) -> Any:
    choice = {"message": {"role": "assistant", "content": _WORD}, "finish_reason": "null"}
    usage = {"input_tokens": 22, "output_tokens": number, "total_tokens": 22 + number}
    return {"output": {"choices": [choice]}, "usage": usage, "request_id": "5cf1a1e0-3b0c-9c1e"}


def _gemini(number: int) -> Any:
    content = {"parts": [{"text": _WORD}], "role": "model"}
    usage = {"promptTokenCount": 22, "candidatesTokenCount": number, "totalTokenCount": 31 + number}
    usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": 22}]
    usage["thoughtsTokenCount"] = 9
    head = {"modelVersion": "gemini-2.5-flash", "responseId": "cMzKaJ2xIYGbz7IPs6_UuAU"}
    return {"candidates": [{"content": content, "index": 0}], "usageMetadata": usage, **head}


def _ollama(_: int) -> Any:
    message = {"role": "assistant", "content": _WORD}
    return {"model": "qwen3", "created_at": "2025-01-01T00:00:00.123456Z", "message": message, "done": False}


_STREAMS = (
    _Stream(
        "OpenAI",
        SSEReader,
        ChunkDecoder,
        _openai,
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        "data: {}\n\n".format,
    ),
    _Stream(
        "Anthropic",
        SSEReader,
        MessageDecoder,
        _anthropic,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        "event: content_block_delta\ndata: {}\n\n".format,
    ),
    _Stream(
        "OpenAI's responses",
        SSEReader,
        ResponseDecoder,
        _responses,
        {"type": "response.completed", "response": {"status": "completed"}},
        "event: response.output_text.delta\ndata: {}\n\n".format,
    ),
    _Stream(
        "DashScope",
        SSEReader,
        FrameDecoder,
        _dashscope,
        {"output": {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}},
        "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{}\n\n".format,
    ),
    _Stream(
        "Gemini",
        SSEReader,
        GeminiDecoder,
        _gemini,
        {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}]},
        "data: {}\r\n\r\n".format,
    ),
    _Stream(
        "Ollama",
        NDJSONReader,
        LineDecoder,
        _ollama,
        {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
        "{}\n".format,
    ),
)


def comparisons(effort: Effort) -> Iterator[Comparison]:
    """Yield the stream of each provider, a frame for each word, as the network brings them."""
    words = effort.size(5_000)
    for stream in _STREAMS:
        texts = [json.dumps(stream.word(number), separators=(",", ":")) for number in range(words)]
        texts.append(json.dumps(stream.end))
        yield _comparison(stream, texts)


def _comparison(stream: _Stream, texts: Sequence[str]) -> Comparison:
    chunks = [stream.frame(text).encode() for text in texts]
    if _said(_read(stream, chunks)) != _WORD * (len(texts) - 1):
        raise AssertionError(f"the stream of {stream.name} is not read as it was written")

    def parse() -> Cost:
        return best(cpu_time(lambda: [json.loads(text) for text in texts]), times=3)

    return Comparison(
        f"a stream of {stream.name} read, {len(texts)} frames",
        best(cpu_time(lambda: _read(stream, chunks)), times=3),
        [Rival(19, "`json.loads` of its frames", at_most(2), parse)],
        lambda: hot_spots(lambda: _read(stream, chunks)),
    )


def _read(stream: _Stream, chunks: Sequence[bytes]) -> list[ChatResponse]:
    """Read as a model does, without the network."""
    reader, decoder = stream.reader(), stream.decoder("model")
    responses = [response for chunk in chunks for response in decoded(decoder, reader.feed(chunk))]
    responses += decoded(decoder, reader.close())
    decoder.close()
    return responses


def _said(responses: Sequence[ChatResponse]) -> str:
    return "".join(
        part.text for response in responses for part in response.content if isinstance(part, TextBlock)
    )
