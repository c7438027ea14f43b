"""The rules R2–R20 as one loop over the events: slow, plain, and written without a look at the fold."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

from agentscope_rx.event import AgentEvent

__all__ = ["reference"]


def reference(events: Iterable[AgentEvent], reply_id: str) -> dict[str, Any]:
    """Return the message of a reply as plain data."""
    seen, speaker, ended, end = set[str](), None, False, None
    blocks: list[dict[str, Any]] = []
    opened: dict[tuple[str, str], dict[str, Any]] = {}
    newest: dict[str, dict[str, Any]] = {}
    results: dict[str, dict[str, Any]] = {}
    stops: list[tuple[str, bool]] = []
    answered: dict[str, int] = {}
    name, usage, output, model_call = None, None, None, 0

    for e in events:
        if e.source:
            continue
        kind = type(e).__name__.removesuffix("Event")
        speaker = getattr(e, "reply_id", "") or speaker
        if speaker != reply_id or (e.id and e.id in seen):
            continue
        seen.add(e.id)
        if ended and kind not in ("AgentStart", "UserConfirmResult", "ExternalExecutionResult"):
            continue
        if ended:
            ended, end, stops, answered = False, None, [], {}

        if match := re.fullmatch(r"(Text|Thinking|Data)Block(Start|Delta|End)", kind):
            what, step = match[1].lower(), match[2]
            key = what, e.block_id
            block = opened.get(key)
            if step == "Start" and (block is None or block["model_call"] != model_call):
                opened[key] = {"type": what, "chunks": [], "model_call": model_call, "url": None}
                opened[key]["media_type"] = getattr(e, "media_type", None)
                blocks.append(opened[key])
            elif step == "Delta" and block is not None:
                block["chunks"].append(e.data if what == "data" else e.delta)
                if what == "data":
                    block["media_type"] = block["media_type"] or e.media_type
                    block["url"] = e.url if e.url is not None else block["url"]
            elif step == "End" and block is not None:
                del opened[key]
                block["metadata"] = e.metadata.get("block")
        elif kind == "HintBlock":
            blocks.append({"type": "hint", "id": e.block_id, "hint": e.hint, "source": e.hint_source})
        elif kind == "ModelCallStart":
            model_call += 1
        elif kind == "ModelCallEnd" and e.usage is not None:
            usage = e.usage if usage is None else usage + e.usage
        elif kind == "ToolCallStart":
            call = newest.get(e.tool_call_id)
            if call is None or call["model_call"] != model_call or (call["result"] and not call["open"]):
                call = {"type": "tool_use", "id": e.tool_call_id, "name": e.tool_call_name, "chunks": []}
                call |= {"model_call": model_call, "result": None, "state": "pending", "metadata": {}}
                newest[e.tool_call_id] = call
                blocks.append(call)
            call["open"] = True
        elif kind in ("ToolCallDelta", "ToolCallEnd"):
            call = newest.get(e.tool_call_id)
            if call is None:
                continue
            if kind == "ToolCallEnd" and call["open"]:
                call["open"] = False
                call["metadata"] = e.metadata.get("block") or call["metadata"]
            elif kind == "ToolCallDelta" and (
                call["open"] or (call["model_call"] == model_call and not call["result"])
            ):
                call["chunks"].append(e.delta)
        elif kind == "ToolResultStart":
            call, result = newest.get(e.tool_call_id), results.get(e.tool_call_id)
            if result is None or not result["open"] or result["call"] is not call:
                result = {"type": "tool_result", "id": e.tool_call_id, "call": call, "open": True}
                result |= {"name": e.tool_call_name, "output": [], "state": "running", "metadata": {}}
                result["suspended"] = False
                results[e.tool_call_id] = result
                blocks.append(result)
                if call is not None:
                    call["result"] = result
            elif result["suspended"]:
                result |= {"output": [], "state": "running", "metadata": {}, "suspended": False}
        elif kind in ("ToolResultTextDelta", "ToolResultDataDelta"):
            result = results.get(e.tool_call_id)
            if result is not None and result["open"]:
                add_output(result["output"], e)
        elif kind == "ToolResultEnd":
            result = results.get(e.tool_call_id)
            if result is not None and result["open"]:
                result |= {"state": e.state.value, "metadata": e.metadata}
                result["suspended"] = result["open"] = e.state.value == "running"
                if not result["open"] and result["call"] is not None:
                    result["call"]["state"] = "finished"
        elif kind in ("RequireUserConfirm", "RequireExternalExecution"):
            state, why = {
                "RequireUserConfirm": ("asking", "PERMISSION_ASKING"),
                "RequireExternalExecution": ("submitted", "TOOL_SUSPENDED"),
            }[kind]
            asked = [newest[call.id] for call in e.tool_calls if call.id in newest]
            asked = [call for call in asked if call["state"] != "finished"]
            for call in asked:
                call["state"] = state
            if asked:
                stops.append((why, True))
        elif kind == "UserConfirmResult":
            for answer in e.confirm_results:
                call = newest.get(answer.tool_call.id) if answer.tool_call else None
                if call is not None and call["state"] == "asking":
                    call["state"] = "allowed" if answer.confirmed else "finished"
                    if answer.confirmed:
                        edit(call, answer.tool_call)
            answered["PERMISSION_ASKING"] = len(stops)
        elif kind == "ExternalExecutionResult":
            for outcome in e.tool_results:
                take(outcome, newest.get(outcome.id), results, blocks)
            answered["TOOL_SUSPENDED"] = len(stops)
        elif kind == "ExceedMaxIters":
            stops.append(("MAX_ITERATIONS", False))
        elif kind == "RequestStop":
            stops.append((e.generate_reason.value, False))
        elif kind == "AgentResult" and e.result is not None and e.result.generate_reason:
            stops.append((e.result.generate_reason.value, False))
        elif kind == "AgentStart":
            name = name if name is not None else e.name
        elif kind == "AgentEnd":
            ended, end = True, e
            output = e.metadata.get("_structured_output", output)

    waits = {block["state"] for block in blocks if block["type"] == "tool_use"}
    open_questions = {"PERMISSION_ASKING": "asking", "TOOL_SUSPENDED": "submitted"}
    standing = [
        why
        for index, (why, question) in enumerate(stops)
        if open_questions.get(why) in waits or not (question or index < answered.get(why, 0))
    ]
    reason = standing[-1] if standing else None
    if end is not None:
        said = end.generate_reason.value if end.generate_reason else None
        reason = said or (None if end.error else reason or "MODEL_STOP")
    return {
        "name": name,
        "usage": usage,
        "reason": reason,
        "output": output,
        "content": [finish(block) for block in blocks],
    }


def add_output(output: list[dict[str, Any]], e: Any) -> None:
    last = output[-1] if output else None
    if type(e).__name__ == "ToolResultTextDeltaEvent":
        if last is not None and last["type"] == "text":
            last["chunks"].append(e.delta)
        elif e.delta:
            output.append({"type": "text", "chunks": [e.delta]})
    elif e.block is not None:
        output.append({"type": "whole", "block": e.block})
    elif e.url is not None:
        output.append({"type": "data", "chunks": [], "url": e.url, "media_type": e.media_type})
    else:
        known = [part for part in output if e.block_id and part.get("block_id") == e.block_id]
        if known:
            known[0]["chunks"].append(e.data)
            known[0]["media_type"] = known[0]["media_type"] or e.media_type
        elif e.data:
            part = {"type": "data", "chunks": [e.data], "url": None, "media_type": e.media_type}
            output.append({**part, "block_id": e.block_id})


def edit(call: dict[str, Any], edited: Any) -> None:
    call["name"] = edited.name or call["name"]
    known = arguments("".join(call["chunks"]))
    if edited.input and written(edited.input) != written(known):
        agrees = edited.content and written(arguments(edited.content)) == written(edited.input)
        text = edited.content if agrees else json.dumps(edited.input, separators=(",", ":"))
        call["chunks"] = [text]
    elif edited.content and arguments(edited.content) == (edited.input or arguments(edited.content)):
        call["chunks"] = [edited.content]


def written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # `true` is not `1`


def take(outcome: Any, call: Any, results: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
    result = results.get(outcome.id)
    result = result if result is not None and result["call"] is call else None
    if (call is not None and call["state"] == "finished") or (result is not None and not result["open"]):
        return
    if result is None:
        result = {"type": "tool_result", "id": outcome.id, "call": call, "name": ""}
        results[outcome.id] = result
        blocks.append(result)
    state = "success" if outcome.state.value == "running" else outcome.state.value
    result |= {"open": False, "state": state, "metadata": outcome.metadata, "suspended": False}
    result |= {"name": outcome.name or result["name"]}
    result["output"] = [{"type": "whole", "block": block} for block in outcome.output]
    if call is not None:
        call |= {"state": "finished", "result": result}


def finish(block: dict[str, Any]) -> tuple[Any, ...]:
    """Return a block as plain data, without what it was made with."""
    match block["type"]:
        case "text" | "thinking":
            return block["type"], text(block["chunks"]), block.get("metadata")
        case "data" if block["url"] is not None:
            return "data", block["url"], block["media_type"], block.get("metadata")
        case "data":
            return "data", base64_of(text(block["chunks"])), block["media_type"], block.get("metadata")
        case "hint":
            return "hint", block["id"], block["hint"], block["source"]
        case "whole":
            return "whole", block["block"]
        case "tool_use":
            raw = text(block["chunks"])
            return (
                "tool_use",
                block["id"],
                block["name"],
                raw,
                arguments(raw),
                block["state"],
                block["metadata"],
            )
        case _:
            named = block["name"] or (block["call"]["name"] if block["call"] else "")
            output = [finish(part) for part in block["output"]]
            return "tool_result", block["id"], named, output, block["state"], block["metadata"]


def text(chunks: list[str]) -> str:
    units = "".join(chunks).encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "surrogatepass")


def arguments(raw: str) -> Any:
    try:
        value = json.loads(raw, parse_constant=lambda _: [][0])
    except (ValueError, IndexError):
        return {}
    return value if isinstance(value, dict) else {}


def base64_of(raw: str) -> str:
    """Quad by quad: a padded quad ends a text, and another begins behind it."""
    packed, whole = re.sub(r"[ \t\r\n]", "", raw), b""
    while packed:
        quad, packed = packed[:4], packed[4:]
        body = quad.rstrip("=")
        if not re.fullmatch(r"[A-Za-z0-9+/]*", body) or (len(quad) == 4 and len(body) < 2):
            return raw
        if len(quad) < 4 and (packed or (len(body) < 2 and len(quad) > len(body))):
            return raw
        whole += base64.b64decode(body + "=" * (4 - len(body))) if len(body) > 1 else b""
    return base64.b64encode(whole).decode()
