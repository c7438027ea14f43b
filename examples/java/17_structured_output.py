"""Replies that are values of a class: the text of a request, a contact or a review as data.

Java: documentation2/structuredoutput/StructuredOutputExample.java
"""

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from agentscope_rx import ReActAgent, UserMessage
from agentscope_rx.testing import ScriptedCall, ScriptedModel

from example_utils import get_model, print_welcome


@dataclass
class ProductRequirements:
    """What somebody wants to buy."""

    product_type: str
    brand: Annotated[str | None, "the brand that is preferred, if there is one"]
    min_ram: Annotated[int, "memory, in GB"]
    max_budget: Annotated[float, "in US dollars"]
    features: list[str]


@dataclass
class ContactInfo:
    """How somebody can be reached."""

    name: str
    email: str
    phone: str
    company: str | None = None


@dataclass
class SentimentAnalysis:
    """How the writer of a review feels."""

    overall_sentiment: Literal["positive", "negative", "neutral"]
    positive_score: Annotated[float, "from 0 to 1"]
    negative_score: Annotated[float, "from 0 to 1"]
    key_topics: list[str]
    summary: str


ANSWERS = {
    "ProductRequirements": {
        "product_type": "laptop",
        "brand": "Apple",
        "min_ram": 16,
        "max_budget": 2000.0,
        "features": ["lightweight"],
    },
    "ContactInfo": {
        "name": "Ada Okafor",
        "email": "ada@example.com",
        "phone": "+1-555-0100",
        "company": "Streamworks",
    },
    "SentimentAnalysis": {
        "overall_sentiment": "positive",
        "positive_score": 0.8,
        "negative_score": 0.2,
        "key_topics": ["quality", "shipping"],
        "summary": "Good, but slow to arrive.",
    },
}


def answer(asked: ScriptedCall) -> str:
    """Stand in for a model that can be held to a schema: give the answer to the one of this call."""
    schema = asked.options.response_format or {}
    return json.dumps(ANSWERS[schema["title"]])


print_welcome(
    "Structured Output Example",
    "This example demonstrates how to get data from an agent.\n"
    "The agent reads a text and answers with a value of a class.",
)

agent = ReActAgent(
    name="AnalysisAgent",
    sys_prompt="You are an analyst. Read what you are given, and answer with what it says.",
    model=get_model(ScriptedModel(answer, native_structured_output=True)),
)

print("=== Example 1: Product Information ===\n")

request = "I need a lightweight laptop for travel: 16 GB of memory at least, preferably Apple, around $2000."
print(f"Query: {request}\n")

message = agent.reply(UserMessage(f"Extract the product: {request}"), output=ProductRequirements).run()
product = message.get_structured_data(ProductRequirements)
print("  Product Type:", product.product_type)
print("  Brand:", product.brand)
print(f"  Min RAM: {product.min_ram} GB")
print(f"  Max Budget: ${product.max_budget:.2f}")
print("  Features:", ", ".join(product.features))

print("\n=== Example 2: Contact Information ===\n")

note = "You can reach Ada Okafor of Streamworks at ada@example.com or +1-555-0100."
print(f"Text: {note}\n")

message = agent.reply(UserMessage(f"Extract the contact: {note}"), output=ContactInfo).run()
contact = message.get_structured_data(ContactInfo)
print("  Name:", contact.name)
print("  Email:", contact.email)
print("  Phone:", contact.phone)
print("  Company:", contact.company)

print("\n=== Example 3: Sentiment Analysis, streamed ===\n")

review = "The quality is amazing, and so is the service. Only the shipping took longer than I hoped."
print(f"Review: {review}\n")

events = agent.stream_events(UserMessage(f"Analyze the review: {review}"), output=SentimentAnalysis)
end = events.run()
print("  The end of the stream holds:", json.dumps(end.metadata["_structured_output"], indent=4))

print("\n=== All examples completed ===")
