"""Models by name: a string says which one an agent asks, and another string another one.

Java: documentation2/model/ModelRegistryExample.java
"""

from typing import Any

from agentscope_rx import ReActAgent, UserMessage
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ChatModel, GenerateOptions, ModelRegistry
from agentscope_rx.testing import ScriptedCall, ScriptedModel

from example_utils import get_model, print_welcome

BUILT_IN = {
    "openai:gpt-4o": "OPENAI_API_KEY",
    "openai-responses:gpt-5": "OPENAI_API_KEY",
    "anthropic:claude-opus-4-5": "ANTHROPIC_API_KEY",
    "gemini:gemini-2.0-flash": "GEMINI_API_KEY",
    "dashscope:qwen-max": "DASHSCOPE_API_KEY",
    "qwen-plus": "DASHSCOPE_API_KEY",
    "ollama:llama3": "no key; OLLAMA_HOST, if it is not on this machine",
    "deepseek:deepseek-chat": "DEEPSEEK_API_KEY",
}


def answer(asked: ScriptedCall) -> str:
    """Stand in for a model."""
    return "2 + 2 is 4." if "2 + 2" in asked.text else "I know only sums."


def house_model(model_id: str, **settings: Any) -> ChatModel:
    """Make the models of this house, whose ids begin with `house-`."""
    print(f"[FACTORY] Making {model_id} with {settings}")
    return get_model(ScriptedModel(answer))


print_welcome(
    "ModelRegistry Example",
    "This example demonstrates models that are named by a string.\n"
    "The key comes from the environment; nobody constructs a model.",
)

print("Providers that are built in, and the keys that they want:")
for model_id, key in BUILT_IN.items():
    print(f"  {model_id:26} -> {ModelRegistry.can_resolve(model_id)}  ({key})")

print("\nNames and patterns of one's own:")
ModelRegistry.register("assistant-model", get_model(ScriptedModel(answer)))
ModelRegistry.register_factory(r"house-\w+", house_model)
for model_id in ("assistant-model", "house-small", "house-", "acme:large"):
    print(f"  {model_id:26} -> {ModelRegistry.can_resolve(model_id)}")

options = GenerateOptions(temperature=0.2)
for name, settings in (("assistant-model", {}), ("house-small", {"options": options})):
    print(f'\nAn agent with the model "{name}":')
    agent = ReActAgent(
        name="ModelStringDemo",
        sys_prompt="You are a concise assistant. Reply in one sentence.",
        model=ModelRegistry.resolve(name, **settings),
    )
    print("Agent:", agent.reply(UserMessage("What is 2 + 2?")).run().text_content)

print("\nA string that nobody knows:")
try:
    ModelRegistry.resolve("acme:large")
except ConfigurationError as error:
    print(str(error).partition(";")[0])
