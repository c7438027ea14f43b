"""Tools that return images and sound, and a middleware that logs what they are asked and what they give.

Java: documentation2/multimodal/MultiModalToolExample.java
"""

import base64
import io
import math
import re
import struct
import wave
import zlib

from reactivex import Observable, operators as ops

from agentscope_rx import AgentEvent, MiddlewareBase, ReActAgent, RuntimeContext, Toolkit, tool
from agentscope_rx.agent import Agent
from agentscope_rx.event import ToolResultDataDeltaEvent, ToolResultEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.middleware import ActingInput, Phase
from agentscope_rx.testing import ScriptedCall, ScriptedModel, tool_call

from example_utils import get_model, print_welcome, start_chat

RATE = 8_000


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int, rgb: bytes) -> bytes:
    """Return an image of one color."""
    rows = (b"\0" + rgb * width) * height
    parts = {
        b"IHDR": struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(rows),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def wav(hertz: float, seconds: float) -> bytes:
    """Return a tone."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(RATE)
        times = range(int(RATE * seconds))
        sound.writeframes(bytes(int(128 + 100 * math.sin(math.tau * hertz * t / RATE)) for t in times))
    return file.getvalue()


class MultiModalTools:
    @tool
    def text_to_image(self, text: str) -> list[str | ContentBlock]:
        """Generate an image for a text.

        Args:
            text: What the image is to show
        """
        color = bytes(sum(map(ord, text)) * factor % 256 for factor in (1, 7, 31))
        source = Base64Source("image/png", base64_of(png(16, 16, color)))
        return [f"An image of {text}:", DataBlock(source)]

    @tool
    def image_to_text(self, url: str) -> list[str | ContentBlock]:
        """Describe the image behind an address.

        Args:
            url: Where the image is
        """
        return ["A tiger, seen from the side:", DataBlock(URLSource(url, "image/png"))]

    @tool
    async def text_to_audio(self, text: str) -> DataBlock:
        """Say a text.

        Args:
            text: What to say
        """
        source = Base64Source("audio/wav", base64_of(wav(220 + 5 * len(text), 0.1)))
        return DataBlock(source, name="speech.wav")


class ToolCallLoggingMiddleware(MiddlewareBase):
    def on_acting(
        self, agent: Agent, ctx: RuntimeContext, input: ActingInput, next: Phase[ActingInput]
    ) -> Observable[AgentEvent]:
        for call in input.tool_calls:
            print(f"\n[MIDDLEWARE] Tool call START — name: {call.name}, input: {call.input}")

        def show(event: AgentEvent) -> None:
            match event:
                case ToolResultTextDeltaEvent():
                    print(f"[MIDDLEWARE] Tool result text: {event.delta}")
                case ToolResultDataDeltaEvent(block=DataBlock(source=source, name=name)):
                    print(f"[MIDDLEWARE] Tool result data: {source.media_type}, {name}")
                case ToolResultDataDeltaEvent():
                    where = "in Base64" if event.data else event.url
                    print(f"[MIDDLEWARE] Tool result data: {event.media_type}, {where}")
                case ToolResultEndEvent():
                    print(
                        f"[MIDDLEWARE] Tool result END — tool: {event.tool_call_name}, state: {event.state}\n"
                    )
                case _:
                    pass

        return next(input).pipe(ops.tap(show))


def media_in(result: ToolResultBlock) -> str:
    return ", ".join(b.source.media_type or "data" for b in result.output if isinstance(b, DataBlock))


def answer(asked: ScriptedCall) -> str | ToolUseBlock:
    """Stand in for a model: pick the tool by a word of the question, and say what came."""
    if asked.results:
        return f"Here it is: {media_in(asked.results[-1])}."
    if link := re.search(r"https?://\S+", asked.text):
        return tool_call("image_to_text", url=link[0])
    if asked.text.startswith("Say "):
        return tool_call("text_to_audio", text=asked.text.removeprefix("Say "))
    return tool_call("text_to_image", text=asked.text.removeprefix("Draw "))


print_welcome(
    "MultiModal Tool Calling Example",
    "This example demonstrates how to equip an Agent with multimodal tools.\n"
    "Images and sound are results like any other: streamed as events, kept in the message.",
)

toolkit = Toolkit(MultiModalTools())

print("Registered tools:")
for each in toolkit:
    print(f"  - {each.name}: {each.description}")
print("\nTry: 'Draw a black dog', 'Say hello', 'What is on https://example.com/tiger.png'\n")

agent = ReActAgent(
    name="MultiModalToolAgent",
    sys_prompt="You are a helpful assistant with multimodal tools. Say what you are doing when you use them.",
    model=get_model(ScriptedModel(answer)),
    toolkit=toolkit,
    middlewares=[ToolCallLoggingMiddleware()],
)

start_chat(agent)
