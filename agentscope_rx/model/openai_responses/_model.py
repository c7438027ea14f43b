"""OpenAI's Responses API, and the servers that speak it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final
from urllib.parse import urlsplit

from reactivex import Observable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.model._provider import Ask, Defaults, Server
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.openai_responses._decode import ResponseDecoder
from agentscope_rx.model.openai_responses._request import build_request, reasons

__all__ = ["OpenAIResponsesModel"]

_DEFAULTS: Final = Defaults("OpenAI", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",))


@final
class OpenAIResponsesModel:
    """A model behind OpenAI's Responses API, or behind a server that speaks it.

    ```python
    OpenAIResponsesModel("gpt-5", reasoning_summary="auto")                     # OPENAI_API_KEY
    OpenAIResponsesModel("openai/gpt-oss-20b", base_url="http://127.0.0.1:1234/v1")
    ```

    1. The server keeps nothing: each request has the whole conversation, with the model's reasoning as it
       came, encrypted, and the phases of its messages.
    2. Reasoning goes back only to the server that it is from, and only before what it led to.
    3. What the server does by itself, as a search in the web, is passed over; images that it draws are data.
    4. The API has no `stop`, `top_k`, `seed`, penalties and `thinking_budget`; a server that has more takes
       it by `extra_body`.

    Args:
        model: the model's name.
        api_key: the key, or a function that returns the one of the moment; else `OPENAI_API_KEY`. Only
            OpenAI's own server must have one.
        base_url: the server; else `OPENAI_BASE_URL`, else OpenAI's own.
        timeout: seconds that the server may send nothing, keep-alive comments included; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        reasoning_summary: `auto`, `concise` or `detailed`, to have reasoning told in words; models that do
            not reason, and organisations that are not verified, are refused it.
        encrypted_reasoning: whether to ask for reasoning in a form in which it can be given back; if left
            out, where the model's name says that it reasons.
        store: whether the server is to keep the answer, for whoever looks at it there.
        max_event_bytes: what one event of the stream may have.
        native_structured_output: whether the server holds answers to a `response_format`; if left out, only
            OpenAI's own does.

    Errors: `ConfigurationError` here; a `ModelError` through `on_error` of a stream.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | Callable[[], str] | None = None,
        base_url: str | None = None,
        timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        options: GenerateOptions | None = None,
        reasoning_summary: str | None = None,
        encrypted_reasoning: bool | None = None,
        store: bool = False,
        max_event_bytes: int = 16 * 2**20,
        native_structured_output: bool | None = None,
    ) -> None:
        for name, choice in (
            ("encrypted_reasoning", encrypted_reasoning),
            ("native_structured_output", native_structured_output),
        ):
            if not isinstance(choice, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
                raise ConfigurationError(f"{name} is {choice!r}; give True, False or None")
        self._server = Server(
            model,
            _DEFAULTS,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            options=options,
            max_event_bytes=max_event_bytes,
        )
        self._host = urlsplit(self._server.base_url).netloc
        self._summary = reasoning_summary
        self._encrypted = reasons(model) if encrypted_reasoning is None else encrypted_reasoning
        self._store = store
        self._native = self._server.is_own if native_structured_output is None else native_structured_output

    @property
    def model_name(self) -> str:
        """The name that was given."""
        return self._server.model

    @property
    def supports_native_structured_output(self) -> bool:
        """Whether an answer can be held to a JSON schema; else structured output comes by a tool."""
        return self._native

    @property
    def base_url(self) -> str:
        """The server."""
        return self._server.base_url

    def stream(
        self,
        messages: Sequence[Msg],
        tools: Sequence[ToolSchema] = (),
        options: GenerateOptions | None = None,
    ) -> Observable[ChatResponse]:
        """Ask the model: one request per subscription, cancelled when it is disposed.

        Errors: `ModelConnectionError`, `ModelTimeoutError`, `ModelResponseError` and its subclasses,
            `IncompleteStreamError`, `BadModelOutputError`.
        """
        asked, offered = tuple(messages), tuple(tools)

        def ask(key: str | None, options: GenerateOptions) -> Ask:
            body = build_request(
                self.model_name,
                asked,
                offered,
                options,
                server=self._host,
                store=self._store,
                encrypted=self._encrypted,
                summary=self._summary,
            )
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            return Ask("/responses", body, headers)

        return self._server.stream(ask, partial(ResponseDecoder, server=self._host), options)

    def __repr__(self) -> str:
        return f"OpenAIResponsesModel({self.model_name!r}, base_url={self.base_url!r})"
