/**
 * Going on: from a message, or from a checkpoint.
 *
 * A checkpoint is the JSON value that `agentscope_rx` makes and reads, too: a server may take it from its fold
 * and a browser go on from there.
 */

import { ConfigurationError } from "../errors.js";
import { EMPTY, freeze, isObject } from "../json.js";
import { readBlock, readMessage, readUsage, resultState } from "../wire.js";
import { CallDraft } from "./call.js";
import { DataDraft, TextDraft, WholeDraft } from "./drafts.js";
import { Ids } from "./ids.js";
import { Reasons } from "./reasons.js";
import { ResultDraft } from "./result.js";

const VERSION = 1;

const PLAIN = {
  reply_id: "replyId",
  scope: "scope",
  ours: "ours",
  settled: "settled",
  started: "started",
  model_call: "modelCall",
  message_id: "messageId",
  name: "name",
  created_at: "createdAt",
};

/** Let a new state be what a seed says: a paused message, or a checkpoint. */
export function grow(state, seed) {
  const remedy = "give a message, or what `checkpoint` returned";
  if (!isObject(seed) || (!("content" in seed) && seed.version !== VERSION)) {
    throw new ConfigurationError(`the seed is no message and no checkpoint of version ${VERSION}; ${remedy}`);
  }
  try {
    if ("content" in seed) goOnFrom(state, readMessage(seed));
    else load(state, seed);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw new ConfigurationError(`the seed is damaged: ${error.message}; ${remedy}`);
  }
}

/** Take a message as what has come so far: its blocks are closed, its calls stand where they say. */
function goOnFrom(state, message) {
  if (message.role !== "ASSISTANT") {
    throw new ConfigurationError(`the seed is a message of role ${message.role}; give that of a paused reply`);
  }
  state.replyId ??= message.id;
  state.ours = true;
  state.messageId = message.id;
  state.name = message.name;
  state.createdAt = message.timestamp;
  state.usage = message.usage;
  state.metadata = message.metadata;
  if (message.generateReason !== null) {
    state.settled = true;
    state.reasons.end(message.generateReason, false);
  }
  for (const block of message.content) state.blocks.push(draftOf(block, state));
  state.asked = callsThatWait(state);
}

function draftOf(block, state) {
  if (block.type === "tool_use") return (state.group(block.id).call = CallDraft.of(block));
  if (block.type === "tool_result") {
    const group = state.group(block.id);
    return (group.result = ResultDraft.of(block, group.call));
  }
  return new WholeDraft(block);
}

function callsThatWait(state) {
  return new Set(state.blocks.filter((draft) => draft instanceof CallDraft && draft.waits));
}

/** The state as a JSON value. */
export function save(state) {
  const places = new Map(state.blocks.map((draft, place) => [draft, place]));
  const place = (draft) => (draft === null ? null : (places.get(draft) ?? null));
  const open = (drafts) => Object.fromEntries(Array.from(drafts, ([key, draft]) => [key, place(draft)]));
  return {
    version: VERSION,
    ...Object.fromEntries(Object.entries(PLAIN).map(([key, name]) => [key, state[name]])),
    usage: state.usage,
    metadata: state.metadata,
    reasons: state.reasons.save(),
    blocks: state.blocks.map((draft) => saveDraft(draft, place)),
    text: open(state.text),
    thinking: open(state.thinking),
    data: open(state.data),
    calls: Object.fromEntries(
      Array.from(state.calls, ([key, group]) => [key, [place(group.call), place(group.result), group.fragments !== null]]),
    ),
    ending: state.ending.map((group) => group.id),
    ids: state.ids.save(),
  };
}

function saveDraft(draft, place) {
  if (draft instanceof TextDraft) {
    const { kind, text, metadata, modelCall, final } = draft;
    return { kind, text, metadata, model_call: modelCall, open: !final };
  }
  if (draft instanceof DataDraft) {
    const { id, text, mediaType, url, metadata, modelCall, final } = draft;
    return { kind: "data", id, data: text, media_type: mediaType, url, metadata, model_call: modelCall, open: !final };
  }
  if (draft instanceof CallDraft) {
    return { kind: "call", block: draft.block(), model_call: draft.modelCall, open: draft.open };
  }
  if (draft instanceof ResultDraft) {
    return {
      kind: "result",
      id: draft.id,
      name: draft.name,
      call: place(draft.call),
      open: draft.open,
      state: draft.state,
      metadata: draft.metadata,
      parts: draft.parts.map((part) => saveDraft(part, place)),
      text: draft.text !== null,
      data: Object.fromEntries(Array.from(draft.data, ([key, part]) => [key, draft.parts.indexOf(part)])),
    };
  }
  return { kind: "whole", block: draft.block() };
}

/** Make the state what it was when it was saved. */
function load(state, saved) {
  for (const [key, name] of Object.entries(PLAIN)) state[name] = saved[key];
  state.usage = saved.usage === null ? null : readUsage(saved.usage);
  state.metadata = freeze(saved.metadata);
  state.reasons = Reasons.load(saved.reasons);
  const blocks = state.blocks;
  for (const draft of saved.blocks) blocks.push(loadDraft(draft, blocks));
  for (const name of ["text", "thinking", "data"]) {
    for (const [key, place] of Object.entries(saved[name])) state[name].set(key, blocks[place]);
  }
  for (const [key, [call, result, fragments]] of Object.entries(saved.calls)) {
    const group = state.group(key);
    group.call = call === null ? null : blocks[call];
    group.result = result === null ? null : blocks[result];
    if (fragments && group.call !== null) {
      group.fragments = group.call;
      group.call.sealed = false;
    }
  }
  state.ending = saved.ending.map((key) => state.group(key));
  state.asked = callsThatWait(state);
  state.ids = Ids.load(saved.ids);
}

function loadDraft(saved, blocks) {
  switch (saved.kind) {
    case "text":
    case "thinking": {
      const draft = new TextDraft(saved.kind, saved.model_call);
      draft.add(saved.text);
      draft.metadata = freeze(saved.metadata);
      draft.final = !saved.open;
      return draft;
    }
    case "data": {
      const draft = new DataDraft(saved.id, saved.media_type, saved.model_call);
      draft.add(saved.data);
      draft.url = saved.url;
      draft.metadata = freeze(saved.metadata ?? null);
      draft.final = !saved.open;
      return draft;
    }
    case "call": {
      const draft = CallDraft.of(readBlock(saved.block));
      draft.modelCall = saved.model_call;
      draft.open = saved.open;
      return draft;
    }
    case "result": {
      const draft = new ResultDraft(saved.id, saved.name, saved.call === null ? null : blocks[saved.call]);
      draft.open = saved.open;
      draft.state = saved.state === null ? null : resultState(saved.state);
      draft.metadata = freeze(saved.metadata) ?? EMPTY;
      draft.parts = saved.parts.map((part) => loadDraft(part, blocks));
      draft.text = saved.text ? draft.parts.at(-1) : null;
      draft.data = new Map(Object.entries(saved.data).map(([key, place]) => [key, draft.parts[place]]));
      return draft;
    }
    case "whole":
      return new WholeDraft(readBlock(saved.block));
    default:
      throw new ConfigurationError(`unknown kind ${JSON.stringify(saved.kind)}`);
  }
}
