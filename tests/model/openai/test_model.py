"""The model over a real socket: what it sends, what it makes of answers, and how it lets go."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import subprocess
import sys
import time
import traceback
from contextlib import ExitStack
from typing import Any

import pytest
from aiohttp import web
from reactivex import operators as ops

from agentscope_rx.errors import (
    BadModelOutputError,
    ConfigurationError,
    ContextTooLongError,
    IncompleteStreamError,
    ModelConnectionError,
    ModelError,
    ModelHTTPError,
    ModelResponseError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
)
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, TextBlock, UserMessage
from agentscope_rx.model import (
    ChatModel,
    ChatResponse,
    GenerateOptions,
    OpenAIChatModel,
    ReplyIds,
    ToolSchema,
    to_events,
)
from agentscope_rx.operators import to_msg
from tests.model.loopback import Handler, events, serving, status

KEY = "sk-very-secret-0123456789"


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {} if text is None else {"content": text}
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}
HELLO = (chunk("Hel"), chunk("lo"), chunk(finish="stop"), {"choices": [], "usage": USAGE}, "[DONE]")


def model_at(url: str, **more: Any) -> OpenAIChatModel:
    return OpenAIChatModel("gpt-x", api_key=KEY, base_url=url, **more)


async def ask(model: OpenAIChatModel, **more: Any) -> list[ChatResponse]:
    return await model.stream([UserMessage("hi")], **more).pipe(ops.to_list())


def text_of(responses: list[ChatResponse]) -> str:
    return "".join(part.text for item in responses for part in item.content if isinstance(part, TextBlock))


async def failure(handler: Handler, **more: Any) -> tuple[ModelError, str]:
    """What a call fails with, and the text that came before."""
    seen: list[ChatResponse] = []
    async with serving(handler) as server:
        with pytest.raises(ModelError) as caught:
            await model_at(server.url, **more).stream([UserMessage("hi")]).pipe(ops.do_action(seen.append))
    return caught.value, text_of(seen)


@pytest.mark.asyncio
async def test_an_answer_streams_and_says_what_it_took() -> None:
    async with serving(events(*HELLO)) as server:
        model = model_at(server.url)
        responses = await ask(model)

    assert isinstance(model, ChatModel)
    assert (model.model_name, model.base_url) == ("gpt-x", server.url)
    assert text_of(responses) == "Hello"
    assert [item.finish_reason for item in responses if item.finish_reason] == ["stop"]
    usage = responses[-1].usage
    assert usage is not None
    assert 0 < usage.time < 5
    assert usage == ChatUsage(5, 2, time=usage.time)


@pytest.mark.asyncio
async def test_words_arrive_while_the_server_still_speaks() -> None:
    arrived: list[float] = []
    async with serving(events(*HELLO, pause=0.05)) as server:
        await model_at(server.url).stream([]).pipe(ops.do_action(lambda _: arrived.append(time.monotonic())))

    assert arrived[1] - arrived[0] > 0.03


@pytest.mark.asyncio
async def test_the_request_carries_messages_tools_options_and_the_key() -> None:
    async with serving(events(*HELLO)) as server:
        model = model_at(
            server.url + "/", options=GenerateOptions(temperature=0.1, extra_headers={"X-A": "1"})
        )
        await ask(
            model,
            tools=[ToolSchema("add", "Adds.")],
            options=GenerateOptions(max_tokens=9, extra_headers={"X-B": "2"}, extra_query={"v": "3"}),
        )

    request, body = server.requests[0], server.bodies[0]
    assert (request.method, request.path_qs) == ("POST", "/v1/chat/completions?v=3")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert (request.headers["X-A"], request.headers["X-B"]) == ("1", "2")
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert (body["model"], body["stream"], body["temperature"], body["max_tokens"]) == ("gpt-x", True, 0.1, 9)
    assert body["tools"][0]["function"]["name"] == "add"


@pytest.mark.asyncio
async def test_a_header_of_the_options_takes_the_place_of_ours_however_it_is_spelled() -> None:
    extra = {"authorization": "Bearer other", "ACCEPT": "*/*"}
    async with serving(events(*HELLO)) as server:
        await ask(model_at(server.url), options=GenerateOptions(extra_headers=extra))

    headers = server.requests[0].headers
    assert headers.getall("Authorization") == ["Bearer other"]
    assert headers.getall("Accept") == ["*/*"]


@pytest.mark.asyncio
async def test_nothing_is_sent_before_subscription_and_each_is_a_request() -> None:
    async with serving(events(*HELLO)) as server:
        stream = model_at(server.url).stream([UserMessage("hi")])
        await asyncio.sleep(0.02)
        assert server.requests == []
        await stream
        await stream

    assert len(server.requests) == 2


@pytest.mark.asyncio
async def test_connections_are_used_again_also_by_other_models() -> None:
    async with serving(events(*HELLO)) as server:
        for _ in range(3):
            await ask(model_at(server.url))

    assert server.connections == 1


@pytest.mark.asyncio
async def test_calls_side_by_side_do_not_wait_for_each_other() -> None:
    async with serving(events(*HELLO, pause=0.02)) as server:
        model = model_at(server.url)
        answers = await asyncio.gather(*(ask(model) for _ in range(120)))

    assert {text_of(answer) for answer in answers} == {"Hello"}


@pytest.mark.asyncio
async def test_disposing_cancels_the_request() -> None:
    async with serving(events(chunk("a"), hang=True)) as server:
        seen: list[ChatResponse] = []
        subscription = model_at(server.url).stream([]).subscribe(seen.append)
        while not seen:
            await asyncio.sleep(0.005)
        subscription.dispose()
        await asyncio.wait_for(server.left.wait(), 2)

    assert text_of(seen) == "a"


@pytest.mark.asyncio
async def test_disposing_before_the_answer_begins_cancels_the_request_too() -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    async with serving(never) as server:
        subscription = model_at(server.url).stream([]).subscribe()
        while not server.requests:
            await asyncio.sleep(0.005)
        subscription.dispose()
        await asyncio.wait_for(server.left.wait(), 2)


@pytest.mark.asyncio
@pytest.mark.parametrize("body", [
    '{"error": {"message": "no such model", "type": "invalid_request_error"}}', '{"error": "no such model"}',
    '{"detail": "no such model"}', "no such\n  model",
])  # fmt: skip
async def test_an_error_status_says_what_the_server_said(body: str) -> None:
    error, _ = await failure(status(404, body, X_Request_Id="req_1"))

    assert isinstance(error, ModelHTTPError)
    assert (error.status, error.body, error.request_id) == (404, body, "req_1")
    assert (
        "answered 404 Not Found: no such model; check base_url and the model's name (request req_1)"
        in str(error)
    )
    assert "gpt-x at http://127.0.0.1" in str(error)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "7", "Retry_After_Ms": "1500"}, 1.5),
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry_After": "soon"}, None),
        ({}, None),
    ],
)
async def test_too_many_requests_say_when_to_come_again(
    headers: dict[str, str], seconds: float | None
) -> None:
    error, _ = await failure(status(429, '{"error": {"message": "slow down"}}', **headers))

    assert isinstance(error, RateLimitedError)
    assert (error.status, error.retry_after) == (429, seconds)


@pytest.mark.asyncio
async def test_a_redirect_is_not_followed_since_the_key_was_not_for_there() -> None:
    error, _ = await failure(status(307, Location="http://elsewhere.example/v1"))

    assert isinstance(error, ModelHTTPError)
    assert error.status == 307
    assert "http://elsewhere.example/v1" in str(error)


@pytest.mark.asyncio
async def test_secrets_are_in_no_error_and_no_repr() -> None:
    echo = json.dumps({"error": {"message": f"bad key {KEY} and token-9876 and query-5432"}})
    options = GenerateOptions(
        extra_headers={"X-Auth-Token": "token-9876"}, extra_query={"api-key": "query-5432"}
    )
    async with serving(status(401, echo)) as server:
        model = model_at(server.url, options=options)
        with pytest.raises(ModelHTTPError) as caught:
            await ask(model)

    shown = repr(model) + repr(options) + repr(caught.value) + caught.value.body
    shown += "".join(traceback.format_exception(caught.value))
    for secret in (KEY, "token-9876", "query-5432"):
        assert secret not in shown
    assert "bad key *** and *** and ***; check the API key" in str(caught.value)


@pytest.mark.asyncio
async def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    async with serving(events()) as server:
        url = server.url
    with pytest.raises(ModelConnectionError, match=r"gpt-x at http://127.*could not be reached.*server runs"):
        await ask(model_at(url))


@pytest.mark.asyncio
async def test_a_name_that_is_no_host_is_a_connection_error() -> None:
    with pytest.raises(ModelConnectionError, match="could not be reached"):
        await ask(model_at("http://no-such-host.invalid/v1"))


@pytest.mark.asyncio
async def test_a_host_that_takes_no_connection_is_given_up_after_connect_timeout() -> None:
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # the queue is full, and what comes now gets no answer
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"

        with pytest.raises(ModelConnectionError, match=r"could not be reached within 0\.2 s; check base_url"):
            await ask(model_at(url, connect_timeout=0.2))


@pytest.mark.asyncio
async def test_a_server_that_does_not_answer_is_given_up_after_timeout() -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    error, _ = await failure(never, timeout=0.1)

    assert isinstance(error, ModelTimeoutError)
    assert "sent nothing for 0.1 s; raise timeout" in str(error)


@pytest.mark.asyncio
async def test_silence_is_an_error_after_the_timeout_and_keeps_what_came() -> None:
    error, text = await failure(events(chunk("a"), hang=True), timeout=0.1)

    assert isinstance(error, ModelTimeoutError)
    assert text == "a"


@pytest.mark.asyncio
async def test_a_long_answer_outlives_the_timeout_while_it_speaks() -> None:
    async with serving(events(*HELLO, pause=0.06)) as server:
        assert text_of(await ask(model_at(server.url, timeout=0.2))) == "Hello"


@pytest.mark.asyncio
async def test_a_connection_that_breaks_is_an_error_and_keeps_what_came() -> None:
    error, text = await failure(events(chunk("a"), cut=True))

    assert isinstance(error, ModelConnectionError)
    assert "broke" in str(error)
    assert text == "a"


@pytest.mark.asyncio
@pytest.mark.parametrize("handler", [
    events(chunk("a"), chunk(finish="stop"), cut=True), events(chunk("a"), chunk(finish="stop"), hang=True),
    events(chunk("a"), "[DONE]", hang=True), events(chunk("a"), "[DONE]", chunk("b")),
])  # fmt: skip
async def test_what_happens_after_the_model_has_finished_is_no_loss(handler: Handler) -> None:
    async with serving(handler) as server:
        assert text_of(await ask(model_at(server.url, timeout=0.3))) == "a"


@pytest.mark.asyncio
async def test_a_clean_end_without_a_finish_is_an_error() -> None:
    error, text = await failure(events(chunk("The dose is 12")))

    assert isinstance(error, IncompleteStreamError)
    assert text == "The dose is 12"


@pytest.mark.asyncio
async def test_an_error_object_in_the_stream_is_an_error() -> None:
    error, text = await failure(events(chunk("a"), {"error": {"message": "overloaded", "code": 503}}))

    assert isinstance(error, ModelResponseError)
    assert "gpt-x at http://127.0.0.1" in str(error)
    assert "overloaded (503)" in str(error)
    assert text == "a"


@pytest.mark.asyncio
async def test_an_event_that_is_no_json_is_an_error() -> None:
    error, text = await failure(events(chunk("a"), '{"choices": oops'))

    assert isinstance(error, BadModelOutputError)
    assert "oops" in str(error)
    assert text == "a"


@pytest.mark.asyncio
async def test_an_event_that_is_too_long_is_an_error_and_the_limit_can_be_set() -> None:
    error, _ = await failure(events(chunk("a" * 5000)), max_event_bytes=4000)
    assert isinstance(error, BadModelOutputError)
    assert "longer than 4000 bytes" in str(error)

    async with serving(events(chunk("a" * 700_000), chunk(finish="stop"))) as server:
        assert text_of(await ask(model_at(server.url))) == "a" * 700_000


@pytest.mark.asyncio
async def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {"role": "assistant", "content": "Hello"}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}

    async def whole(request: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    async with serving(whole) as server:
        responses = await ask(model_at(server.url))
        with pytest.raises(BadModelOutputError, match="longer than 20 bytes"):
            await ask(model_at(server.url, max_event_bytes=20))

    assert text_of(responses) == "Hello"
    assert responses[-1].usage is not None


@pytest.mark.asyncio
async def test_a_web_page_is_no_answer() -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Welcome</html>", content_type="text/html")

    error, _ = await failure(page)

    assert isinstance(error, BadModelOutputError)
    assert "web page" in str(error)
    assert "check base_url" in str(error)


@pytest.mark.asyncio
async def test_large_messages_are_sent_without_a_warning() -> None:
    image = DataBlock(Base64Source("image/png", "QUJD" * 500_000))
    async with serving(events(*HELLO)) as server:
        await model_at(server.url).stream([UserMessage(image)])

    assert len(server.bodies[0]["messages"][0]["content"][0]["image_url"]["url"]) > 2_000_000


@pytest.mark.asyncio
async def test_what_came_before_a_failure_is_on_the_error_of_the_fold() -> None:
    async with serving(events(chunk("par"), cut=True)) as server:
        model = model_at(server.url)
        answer = model.stream([]).pipe(to_events(reply_id="r", model_name=model.model_name, ids=ReplyIds()))
        with pytest.raises(ModelConnectionError) as caught:
            await answer.pipe(to_msg())

    assert caught.value.partial.text_content == "par"


def test_a_plain_script_may_run_it_and_loops_leave_nothing_open() -> None:
    async def once() -> str:
        async with serving(events(*HELLO)) as server:
            return text_of(await ask(model_at(server.url)))

    assert [asyncio.run(once()) for _ in range(2)] == ["Hello", "Hello"]
    gc.collect()  # whatever is open warns now, and warnings are errors

    script = """
import asyncio, threading, sys
from tests.model.loopback import events, serving
from tests.model.openai.test_model import HELLO, model_at, text_of
from reactivex import operators as ops

ready, stop = threading.Event(), threading.Event()

async def serve():
    global url
    async with serving(events(*HELLO)) as server:
        url = server.url
        ready.set()
        await asyncio.to_thread(stop.wait)

thread = threading.Thread(target=lambda: asyncio.run(serve()))
thread.start()
ready.wait()
print(text_of(model_at(url).stream([]).pipe(ops.to_list()).run()))
stop.set()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr, done.returncode) == ("Hello\n", "", 0)


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return monkeypatch


def test_only_the_providers_own_server_needs_a_key(no_settings: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no key for https://api\.openai\.com/v1; set OPENAI_API_KEY"
    ):
        OpenAIChatModel("gpt-4o")

    assert OpenAIChatModel("m", base_url="http://127.0.0.1:1/v1").base_url == "http://127.0.0.1:1/v1"
    no_settings.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIChatModel("gpt-4o").base_url == "https://api.openai.com/v1"
    no_settings.setenv("OPENAI_BASE_URL", "http://localhost:9/v1/")
    assert OpenAIChatModel("gpt-4o").base_url == "http://localhost:9/v1"


@pytest.mark.asyncio
async def test_without_a_key_none_is_sent_and_a_function_gives_the_key_of_the_moment(
    no_settings: pytest.MonkeyPatch,
) -> None:
    keys = iter(["one", "two"])
    async with serving(events(*HELLO)) as server:
        await ask(OpenAIChatModel("m", base_url=server.url))
        changing = OpenAIChatModel("m", base_url=server.url, api_key=lambda: next(keys))
        await ask(changing)
        await ask(changing)

    sent = [request.headers.get("Authorization") for request in server.requests]
    assert sent == [None, "Bearer one", "Bearer two"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": ""}, "model is empty"),
        ({"base_url": "127.0.0.1:80/v1"}, "is no address of a server"),
        ({"base_url": "http://"}, "is no address of a server"),
        ({"base_url": "http://x:99999/v1"}, "is no address of a server"),
        ({"base_url": "http://x/v1?a=1"}, "extra_query"),
        ({"base_url": "http://u:secret-pw@x/v1"}, "holds credentials"),
        ({"api_key": "a\nb"}, "api_key is no key"),
        ({"api_key": " "}, "api_key is no key"),
        ({"timeout": 0}, "timeout=0 leaves no time"),
        ({"connect_timeout": -1}, "connect_timeout=-1 leaves no time"),
        ({"max_event_bytes": 0}, "limit=0"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        OpenAIChatModel(**{"model": "m", "base_url": "http://x/v1", **arguments})

    assert "secret-pw" not in str(caught.value)


@pytest.mark.asyncio
async def test_a_request_that_cannot_be_written_says_so() -> None:
    options = GenerateOptions(extra_body={"x": object()})
    with pytest.raises(ConfigurationError, match="is no JSON"):
        await ask(model_at("http://127.0.0.1:1/v1"), options=options)


def test_importing_the_package_of_models_does_not_load_aiohttp() -> None:
    script = (
        "import sys, agentscope_rx, agentscope_rx.model, agentscope_rx.testing\n"
        "assert 'aiohttp' not in sys.modules\n"
        "from agentscope_rx.model import OpenAIChatModel\n"
        "assert 'aiohttp' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.asyncio
async def test_secrets_are_in_no_error_inside_a_stream_either() -> None:
    error, _ = await failure(events({"error": {"message": f"bad key {KEY}"}}))

    assert isinstance(error, ModelResponseError)
    assert "bad key ***" in str(error)
    assert KEY not in str(error) + repr(error) + error.body + "".join(traceback.format_exception(error))


@pytest.mark.asyncio
async def test_an_overloaded_server_and_a_long_conversation_are_known_by_their_class() -> None:
    error, _ = await failure(events({"error": {"message": "m", "type": "overloaded_error"}}))
    assert isinstance(error, OverloadedError)

    body = '{"error": {"message": "m", "code": "context_length_exceeded", "request_id": "r"}}'
    error, _ = await failure(status(400, body))
    assert isinstance(error, ContextTooLongError)
    assert "answered 400 Bad Request: m; send a shorter conversation (request r)" in str(error)
    assert (error.status, error.code, error.request_id) == (400, "context_length_exceeded", "r")


@pytest.mark.asyncio
async def test_the_seconds_that_an_overloaded_server_asks_for_are_known() -> None:
    error, _ = await failure(status(503, "busy", Retry_After="3"))

    assert isinstance(error, OverloadedError)
    assert error.retry_after == 3.0
    assert "busy; try again after 3 s" in str(error)
