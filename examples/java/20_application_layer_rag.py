"""Retrieval in the application: find documents, build a prompt with them, ask an ordinary agent.

Java: documentation2/rag/ApplicationLayerRagExample.java
"""

import re

from attrs import frozen
from reactivex import operators as ops

from agentscope_rx import ReActAgent, UserMessage
from agentscope_rx.testing import ScriptedCall, ScriptedModel

from example_utils import get_model, print_welcome, show


@frozen
class KnowledgeDocument:
    id: str
    content: str


DOCUMENTS = [
    KnowledgeDocument(
        "refund-policy",
        "Refunds are available within 30 days of purchase. Annual subscriptions are refunded prorated.",
    ),
    KnowledgeDocument(
        "support-hours",
        "Customer support is available Monday through Friday, 09:00 to 18:00 China Standard Time.",
    ),
    KnowledgeDocument(
        "security",
        "Production data is encrypted in transit and at rest. Support staff never request account passwords.",
    ),
]


def retrieve(query: str, limit: int) -> list[KnowledgeDocument]:
    """Return the documents that share most words with a query.

    A product asks its vector store here; all that follows stays the same.
    """
    scores = {document: len(terms(query) & terms(document.content)) for document in DOCUMENTS}
    found = [document for document in DOCUMENTS if scores[document]]
    return sorted(found, key=lambda document: (-scores[document], document.id))[:limit]


def terms(text: str) -> set[str]:
    return {term for term in re.split(r"[^a-z0-9]+", text.lower()) if len(term) > 2}


def build_rag_prompt(question: str, matches: list[KnowledgeDocument]) -> str:
    context = "\n\n".join(f"[{document.id}]\n{document.content}" for document in matches)
    return (
        f"Retrieved context:\n{context or '(No relevant documents were retrieved.)'}\n\n"
        f"User question:\n{question}\n"
    )


def answer(asked: ScriptedCall) -> str:
    """Stand in for a model: say what the context says."""
    context = asked.text.partition("User question:")[0].splitlines()[1:]
    return " ".join(line for line in context if line and line[0] not in "[(") or "I do not know."


print_welcome(
    "Application-Layer RAG Example",
    "Retrieval is the application's: it finds documents, puts them into the prompt,\n"
    "and asks a normal agent, which needs to know nothing of it.",
)

question = "I bought an annual subscription 10 days ago. Can I receive a refund?"
matches = retrieve(question, 2)

print("Question:", question)
print("Retrieved documents:", [document.id for document in matches])
print("\nAnswer:")

agent = ReActAgent(
    name="SupportAssistant",
    sys_prompt=(
        "You are a customer-support assistant. Answer only with the retrieved context. "
        "If it does not contain the answer, say that you do not know."
    ),
    model=get_model(ScriptedModel(answer)),
)

agent.stream_events(UserMessage(build_rag_prompt(question, matches))).pipe(ops.tap(show)).run()
print()
