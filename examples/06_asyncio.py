"""In asyncio: await a message, read events one by one, stop in the middle, hold two conversations at once."""

import asyncio

from agentscope_rx import ReActAgent, RuntimeContext, TextBlockDeltaEvent, to_async_iterable
from agentscope_rx.testing import ScriptedModel

model = ScriptedModel(lambda asked: f"{asked.text} Yes. And then? Then it went on and on.", delay=0.01)
agent = ReActAgent("Friday", model=model)


async def main() -> None:
    message = await agent.reply("Is anybody there?")
    print(message.text_content)

    async with to_async_iterable(agent.call("Tell me a story.")) as events:
        async for event in events:
            if isinstance(event, TextBlockDeltaEvent):
                print(event.delta, end="", flush=True)
                if "then" in event.delta:
                    break  # leaving the block cancels the call
    print(" …")

    ann, bob = RuntimeContext(session_id="ann"), RuntimeContext(session_id="bob")
    answers = await asyncio.gather(agent.reply("I am Ann.", ann), agent.reply("I am Bob.", bob))
    for answer in answers:
        print(answer.text_content)


asyncio.run(main())
