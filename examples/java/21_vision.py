"""An image beside the question: a message of several blocks.

Java: documentation2/multimodal/VisionExample.java
"""

import base64
import struct
import zlib

from agentscope_rx import ReActAgent, UserMessage
from agentscope_rx.message import Base64Source, DataBlock, TextBlock
from agentscope_rx.testing import ScriptedCall, ScriptedModel

from example_utils import get_model, print_welcome, start_chat

COLORS: dict[tuple[int, ...], str] = {(255, 0, 0): "red", (0, 128, 0): "green", (0, 0, 255): "blue"}


def square(size: int, red: int, green: int, blue: int) -> str:
    """Return a PNG of one color, in Base64."""
    rows = (b"\0" + bytes((red, green, blue)) * size) * size
    header = struct.pack(">2I5B", size, size, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def answer(asked: ScriptedCall) -> str:
    """Stand in for a model: look at the first dot of the newest image."""
    images = [image for msg in asked.messages for image in msg.get_content_blocks(DataBlock)]
    source = images[-1].source
    if not isinstance(source, Base64Source):
        return "I can look only at images that are in the message."
    png = base64.b64decode(source.data)
    dots = zlib.decompress(png[png.index(b"IDAT") + 4 :])
    return f"The image is {COLORS.get(tuple(dots[1:4]), 'of a color that I do not know')}."


print_welcome(
    "Vision Example",
    "This example demonstrates how to use vision capabilities.\n"
    "The agent can analyze images and describe what it sees.",
)

agent = ReActAgent(
    name="VisionAssistant",
    sys_prompt=(
        "You are a helpful AI assistant with vision capabilities. "
        "Analyze images carefully and provide accurate descriptions."
    ),
    model=get_model(ScriptedModel(answer)),
)

print("Testing with a simple image (20x20 red square PNG)")
print("Question: What color is this image?\n")

message = UserMessage(
    "user",
    TextBlock("What color is this image? Please describe it."),
    DataBlock(Base64Source("image/png", square(20, 255, 0, 0))),
)
response = agent.reply(message).run()
print(f"Agent: {response.text_content}\n")

start_chat(agent)
