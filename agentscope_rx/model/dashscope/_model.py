"""Alibaba's Qwen and the other models of DashScope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final
from urllib.parse import urlsplit

from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx.errors import ConfigurationError, ModelHTTPError
from agentscope_rx.message import Msg
from agentscope_rx.model._history import history
from agentscope_rx.model._provider import Ask, Defaults, Server
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.dashscope._decode import FrameDecoder
from agentscope_rx.model.dashscope._request import (
    build_request,
    choice_of,
    has_media,
    has_uploads,
    is_incremental,
    is_multimodal,
    thinks,
)
from agentscope_rx.model.openai import OpenAIChatModel

__all__ = ["DashScopeModel"]

_DEFAULTS: Final = Defaults(
    "DashScope",
    "https://dashscope.aliyuncs.com/api/v1",
    ("DASHSCOPE_API_KEY",),
    ("DASHSCOPE_HTTP_BASE_URL",),
)
_ENDPOINTS: Final = {"text": "text-generation", "multimodal": "multimodal-generation"}
_COMPATIBLE: Final = "/compatible-mode"


@final
class DashScopeModel:
    """A model of Alibaba's DashScope, as Qwen, in its own protocol or in OpenAI's.

    ```python
    DashScopeModel("qwen-plus")                                          # DASHSCOPE_API_KEY
    DashScopeModel("qwen3-vl-plus", base_url="https://dashscope-intl.aliyuncs.com")
    DashScopeModel("qwen-plus", compatible=True)                         # OpenAI's chat completions
    ```

    1. Thinking, and its signature, go back to the server.
    2. What is no image, sound or video, as a PDF, is only mentioned to the model.
    3. `cache_control` marks the system prompt and the end of the conversation for the server's cache; a
       message with the metadata `_cache_control` is marked by itself.

    Args:
        model: the model's name.
        api_key: the key, or a function that returns the one of the moment; else the one in
            `DASHSCOPE_API_KEY`. Only DashScope's own server must have one.
        base_url: the server; else the one in `DASHSCOPE_HTTP_BASE_URL` (of the compatible mode,
            `DASHSCOPE_COMPATIBLE_BASE_URL`), else DashScope in Beijing.
        timeout: seconds that the server may send nothing; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        endpoint: `text`, `multimodal`, or `auto`: multimodal where the name says so, and where the
            conversation has images, sounds or videos. The endpoint for text only mentions them.
        compatible: whether to speak OpenAI's chat completions; if left out, where the address says so.
        incremental_output: whether the server is to send only what is new, and not all so far each time.
            The answer is the same.
        enable_thinking: whether the model is to think; None leaves it to the model. `thinking_budget` and
            `reasoning_effort` of the options say so, too. A model that thinks cannot be forced to call a
            tool.
        enable_search: whether the model may search the web.
        max_event_bytes: what one event of the stream may have.
        native_structured_output: whether the model holds its answers to a `response_format`, also of
            requests with tools; few do.

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
        endpoint: str = "auto",
        compatible: bool | None = None,
        incremental_output: bool = True,
        enable_thinking: bool | None = None,
        enable_search: bool | None = None,
        max_event_bytes: int = 16 * 2**20,
        native_structured_output: bool = False,
    ) -> None:
        if endpoint not in ("auto", *_ENDPOINTS):
            raise ConfigurationError(f"endpoint={endpoint!r} is none; give 'auto', 'text' or 'multimodal'")
        self._options = options or GenerateOptions()
        self._endpoint = endpoint
        self._incremental = incremental_output
        self._thinking = enable_thinking
        self._search = enable_search
        self._native_output = native_structured_output
        if compatible is None:
            compatible = _COMPATIBLE in (base_url or "")
        self._server: Server | OpenAIChatModel
        if compatible:
            self._server = OpenAIChatModel(
                model,
                api_key=api_key,
                base_url=base_url,
                timeout=timeout,
                connect_timeout=connect_timeout,
                provider="dashscope",
                max_event_bytes=max_event_bytes,
            )
        else:
            self._server = Server(
                model,
                _DEFAULTS,
                api_key=api_key,
                base_url=base_url,
                timeout=timeout,
                connect_timeout=connect_timeout,
                max_event_bytes=max_event_bytes,
            )
        self._model = model

    @property
    def model_name(self) -> str:
        """The name that was given."""
        return self._model

    @property
    def supports_native_structured_output(self) -> bool:
        """Whether an answer can be held to a JSON schema; else structured output comes by a tool."""
        return self._native_output

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
        wanted = (options or GenerateOptions()).over(self._options)
        if isinstance(self._server, OpenAIChatModel):
            return self._server.stream(asked, offered, self._compatible(offered, wanted))
        incremental = is_incremental(wanted, self._incremental)

        def ask(key: str | None, options: GenerateOptions) -> Ask:
            turns = history(asked)
            multimodal = self._endpoint == "multimodal" or (
                self._endpoint == "auto" and (is_multimodal(self._model) or has_media(turns))
            )
            body = build_request(
                self._model,
                turns,
                offered,
                options,
                multimodal=multimodal,
                incremental_output=incremental,
                enable_thinking=self._thinking,
                enable_search=self._search,
            )
            headers = {"X-DashScope-SSE": "enable"}
            if has_uploads(turns):
                headers["X-DashScope-OssResourceResolve"] = "enable"
            if key is not None:
                headers["Authorization"] = f"Bearer {key}"
            return Ask(_path(self.base_url, multimodal), body, headers)

        def decoder(name: str) -> FrameDecoder:
            return FrameDecoder(name, incremental=incremental)

        return self._server.stream(ask, decoder, wanted).pipe(ops.do_action(on_error=_explain))

    def _compatible(self, tools: Sequence[ToolSchema], options: GenerateOptions) -> GenerateOptions:
        """The options with what OpenAI's protocol has no words for."""
        thinking = thinks(options, self._thinking)
        extra = {"enable_thinking": thinking, "enable_search": self._search}
        return evolve(
            options,
            tool_choice=choice_of(options.tool_choice, tools, thinking),
            thinking_budget=options.thinking_budget if thinking else None,
            reasoning_effort=options.reasoning_effort if thinking else None,
            extra_body={**extra, **options.extra_body},
        )

    def __repr__(self) -> str:
        return f"DashScopeModel({self._model!r}, base_url={self.base_url!r})"


def _path(base_url: str, multimodal: bool) -> str:
    """The endpoint, behind an address with or without the version of the API."""
    version = "" if urlsplit(base_url).path else "/api/v1"
    return f"{version}/services/aigc/{_ENDPOINTS['multimodal' if multimodal else 'text']}/generation"


def _explain(error: Exception) -> None:
    """Say what the server means when it does not like the address."""
    if isinstance(error, ModelHTTPError) and "url error" in str(error):
        remedy = "if another endpoint serves the model, give endpoint='multimodal' or 'text'"
        error.args = (f"{error}; {remedy}",)
