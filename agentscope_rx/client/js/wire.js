/**
 * JSON values, read as events, messages and blocks.
 *
 * What is read is written as the wire has it, with what is missing or null in its place: a missing text is the
 * empty one, missing metadata an empty object. Values are copies that do not change. What does not fit is a
 * `WireError` with its path.
 */

import { WireError } from "./errors.js";
import { EMPTY, NONE, freeze, isObject, loads, loadsObject, own } from "./json.js";

export const STRUCTURED_OUTPUT = "_structured_output";
const GENERATE_REASON = "agentscope_generate_reason";

const LEGACY = {
  __proto__: null,
  RUN_STARTED: "AGENT_START",
  REPLY_START: "AGENT_START",
  RUN_FINISHED: "AGENT_END",
  REPLY_END: "AGENT_END",
  MODEL_CALL_STARTED: "MODEL_CALL_START",
  MODEL_CALL_ENDED: "MODEL_CALL_END",
  BINARY_BLOCK_START: "DATA_BLOCK_START",
  BINARY_BLOCK_DELTA: "DATA_BLOCK_DELTA",
  BINARY_BLOCK_END: "DATA_BLOCK_END",
  TOOL_RESULT_BINARY_DELTA: "TOOL_RESULT_DATA_DELTA",
  THREAD_EXPOSED: "SUBAGENT_EXPOSED",
};

// Scalars: a string is a string, a boolean is no number.

function unexpected(what, value) {
  const given = value === null || value === undefined ? "null" : Array.isArray(value) ? "an array" : typeof value;
  return new WireError(`expected ${what}, got ${given}`);
}

function str(value) {
  if (typeof value !== "string") throw unexpected("a string", value);
  return value;
}

function bool(value) {
  if (typeof value !== "boolean") throw unexpected("true or false", value);
  return value;
}

function int(value) {
  if (typeof value === "bigint") return Number(value);
  if (!Number.isInteger(value)) throw unexpected("an integer", value);
  return value;
}

function number(value) {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "number" || !Number.isFinite(value)) throw unexpected("a number", value);
  return value;
}

function object(value) {
  if (!isObject(value)) throw unexpected("an object", value);
  return value;
}

function json(value) {
  return freeze(object(value));
}

function jsonWithoutNulls(value) {
  for (const [key, member] of Object.entries(object(value))) {
    if (member === null) throw new WireError("expected a value, got null", `$.${key}`);
  }
  return freeze(value);
}

function oneOf(what, ...names) {
  const known = new Map(names.map((name) => [name.toLowerCase(), name]));
  return (value) => {
    const name = known.get(str(value).toLowerCase());
    if (name === undefined) throw new WireError(`unknown ${what} ${JSON.stringify(value)}; known: ${names.join(", ")}`);
    return name;
  };
}

function list(read) {
  return (value) => {
    if (!Array.isArray(value)) throw unexpected("an array", value);
    return own(value.map((item, index) => at(index, read, item)));
  };
}

function at(key, read, value) {
  try {
    return read(value);
  } catch (error) {
    throw error instanceof WireError ? error.under(key) : error;
  }
}

const role = oneOf("role", "USER", "ASSISTANT", "SYSTEM", "TOOL");
export const reason = oneOf(
  "generate reason",
  "MODEL_STOP",
  "TOOL_CALLS",
  "STRUCTURED_OUTPUT",
  "TOOL_SUSPENDED",
  "REASONING_STOP_REQUESTED",
  "ACTING_STOP_REQUESTED",
  "PERMISSION_ASKING",
  "MIDDLEWARE_STOP_REQUESTED",
  "ALL_TOOLS_DENIED",
  "INTERRUPTED",
  "MAX_ITERATIONS",
);
const callState = oneOf("tool call state", "pending", "asking", "allowed", "submitted", "finished");
export const resultState = oneOf("tool result state", "success", "error", "interrupted", "denied", "running");

// Objects, part by part: [key, how it is read, what stands for a missing one; none: it must be there].

const REQUIRED = Symbol("required");
const TEXT = ""; // stands for a missing text

function parts(plan) {
  return (value) => {
    const result = {};
    for (const [key, read, blank, also] of plan) {
      let [name, member] = [key, object(value)[key]];
      if ((member === null || member === undefined) && also) [name, member] = [also, value[also]];
      if (member !== null && member !== undefined) result[key] = at(name, read, member);
      else if (blank === REQUIRED) throw new WireError("missing", `$.${key}`);
      else result[key] = blank;
    }
    return result;
  };
}

/** Leave out what is null, as the wire does for most values. */
function dense(read) {
  return (value) => Object.fromEntries(Object.entries(read(value)).filter(([, member]) => member !== null));
}

function typed(type, read) {
  return (value) => {
    const tag = object(value).type;
    if (tag !== undefined && tag !== null && tag !== type) {
      throw new WireError(`expected ${JSON.stringify(type)}, got ${JSON.stringify(tag)}`, "$.type");
    }
    return own({ type, ...read(value) });
  };
}

function tagged(what, readers) {
  return (value) => {
    const tag = object(value).type;
    const read = readers.get(at("type", str, tag));
    if (read === undefined) {
      const known = [...readers.keys()].join(", ");
      throw new WireError(`unknown ${what} type ${JSON.stringify(tag)}; known: ${known}`, "$.type");
    }
    return read(value);
  };
}

function table(plans) {
  return new Map(Object.entries(plans).map(([type, read]) => [type, typed(type, read)]));
}

const source = tagged(
  "source",
  table({
    base64: parts([
      ["media_type", str, REQUIRED, "mediaType"],
      ["data", str, REQUIRED],
    ]),
    url: dense(
      parts([
        ["url", str, REQUIRED],
        ["mime_type", str, null],
      ]),
    ),
  }),
);

const MEDIA = [["source", source, REQUIRED]];
const PIXELS = [
  ["minPixels", int, null, "min_pixels"],
  ["maxPixels", int, null, "max_pixels"],
];

const toolUseParts = parts([
  ["id", str, TEXT],
  ["name", str, TEXT],
  ["input", json, EMPTY],
  ["content", str, null],
  ["metadata", json, EMPTY],
  ["state", callState, "pending"],
]);

const toolResultParts = parts([
  ["id", str, TEXT],
  ["name", str, TEXT],
  ["output", (value) => list(readBlock)(value), NONE],
  ["metadata", jsonWithoutNulls, EMPTY],
  ["state", resultState, "running"],
]);

const BLOCKS = table({
  text: dense(
    parts([
      ["text", str, TEXT],
      ["metadata", json, null],
    ]),
  ),
  thinking: parts([
    ["thinking", str, TEXT],
    ["metadata", json, null],
  ]),
  data: dense(parts([...MEDIA, ["id", str, TEXT], ["name", str, null], ["metadata", json, null]])),
  image: dense(parts([...MEDIA, ...PIXELS])),
  audio: parts(MEDIA),
  video: dense(
    parts([
      ["source", source, null],
      ["fps", number, null],
      ["maxFrames", int, null, "max_frames"],
      ...PIXELS,
      ["totalPixels", int, null, "total_pixels"],
    ]),
  ),
  tool_use: toolUseParts,
  tool_result: toolResultParts,
  hint: parts([
    ["id", str, TEXT],
    ["hint", str, TEXT],
    ["source", str, null],
  ]),
});

/** Read a content block. */
export const readBlock = tagged("block", BLOCKS);
const toolUse = BLOCKS.get("tool_use");
const toolResult = BLOCKS.get("tool_result");

const usageParts = parts([
  ["inputTokens", int, 0],
  ["outputTokens", int, 0],
  ["cachedTokens", int, 0],
  ["time", number, 0],
  ["reasoningTokens", int, 0],
]);

function withTotal(usage) {
  return own({ ...usage, totalTokens: usage.inputTokens + usage.outputTokens });
}

/** Read the tokens of a model call, or of several. */
export function readUsage(value) {
  return withTotal(usageParts(value));
}

/** Add the tokens of two model calls. */
export function addUsage(a, b) {
  return withTotal(Object.fromEntries(Object.keys(a).map((key) => [key, a[key] + b[key]])));
}

const messageParts = parts([
  ["id", str, TEXT],
  ["name", str, null],
  ["role", role, "USER"],
  ["content", (value) => list(readBlock)(notNull(value)), NONE],
  ["metadata", json, EMPTY],
  ["timestamp", str, TEXT],
  ["usage", readUsage, null],
  ["generateReason", reason, null],
]);

function notNull(value) {
  return Array.isArray(value) ? value.filter((block) => block !== null) : value;
}

/** Read a message, of the wire (where the reason stands in the metadata) or of this module. */
export function readMessage(value) {
  const read = messageParts(value);
  const { [GENERATE_REASON]: why, ...metadata } = read.metadata;
  const generateReason =
    why === null || why === undefined ? read.generateReason : at("metadata", () => at(GENERATE_REASON, reason, why));
  return own({ ...read, metadata: withoutNulls(metadata), generateReason });
}

/** The entries of metadata that are not null. */
export function withoutNulls(metadata) {
  return own(Object.fromEntries(Object.entries(metadata).filter(([, member]) => member !== null)));
}

// Events.

const OPTIONAL = [str, null];
const REPLY = ["replyId", str, TEXT];
const BLOCK = [REPLY, ["blockId", str, TEXT]];
const TOOL = [REPLY, ["toolCallId", str, TEXT], ["toolCallName", str, TEXT]];
const DELTA = ["delta", str, TEXT];
const CALLS = ["toolCalls", list(toolUse), NONE];

const confirmResult = (value) =>
  own(
    parts([
      ["confirmed", bool, false],
      ["toolCall", toolUse, null],
      ["rules", list(json), null],
    ])(value),
  );

const errorInfo = (value) =>
  own(
    parts([
      ["type", str, TEXT],
      ["message", str, TEXT],
    ])(value),
  );

const COMMON = [
  ["id", str, TEXT],
  ["createdAt", str, TEXT],
  ["source", str, null],
  ["metadata", json, EMPTY],
];

const PLANS = {
  AGENT_START: [REPLY, ["sessionId", ...OPTIONAL], ["name", ...OPTIONAL], ["role", str, "assistant"]],
  AGENT_END: [REPLY, ["generateReason", reason, null], ["error", errorInfo, null]],
  AGENT_RESULT: [REPLY, ["result", readMessage, null]],
  MODEL_CALL_START: [REPLY, ["modelName", ...OPTIONAL]],
  MODEL_CALL_END: [REPLY, ["usage", readUsage, null]],
  TEXT_BLOCK_START: BLOCK,
  TEXT_BLOCK_DELTA: [...BLOCK, DELTA],
  TEXT_BLOCK_END: BLOCK,
  THINKING_BLOCK_START: BLOCK,
  THINKING_BLOCK_DELTA: [...BLOCK, DELTA],
  THINKING_BLOCK_END: BLOCK,
  DATA_BLOCK_START: [...BLOCK, ["mediaType", ...OPTIONAL]],
  DATA_BLOCK_DELTA: [...BLOCK, ["data", str, TEXT, "delta"], ["url", ...OPTIONAL], ["mediaType", ...OPTIONAL]],
  DATA_BLOCK_END: BLOCK,
  HINT_BLOCK: [...BLOCK, ["hintSource", ...OPTIONAL], ["hint", str, TEXT]],
  TOOL_CALL_START: TOOL,
  TOOL_CALL_DELTA: [...TOOL, DELTA],
  TOOL_CALL_END: TOOL,
  TOOL_RESULT_START: TOOL,
  TOOL_RESULT_TEXT_DELTA: [...TOOL, DELTA],
  TOOL_RESULT_DATA_DELTA: [
    ...TOOL,
    ["data", (value) => value, TEXT],
    ["url", ...OPTIONAL],
    ["mediaType", ...OPTIONAL],
    ["blockId", str, TEXT],
  ],
  TOOL_RESULT_END: [...TOOL, ["state", resultState, "success"]],
  EXCEED_MAX_ITERS: [REPLY, ["maxIters", int, 0], ["currentIter", int, 0]],
  REQUIRE_USER_CONFIRM: [REPLY, CALLS, ["suggestedRules", json, EMPTY]],
  REQUIRE_EXTERNAL_EXECUTION: [REPLY, CALLS],
  USER_CONFIRM_RESULT: [REPLY, ["confirmResults", list(confirmResult), NONE]],
  EXTERNAL_EXECUTION_RESULT: [REPLY, ["toolResults", list(toolResult), NONE]],
  REQUEST_STOP: [REPLY, ["reason", ...OPTIONAL], ["generateReason", reason, "MIDDLEWARE_STOP_REQUESTED"]],
  SUBAGENT_EXPOSED: [
    REPLY,
    ["subagentId", ...OPTIONAL],
    ["agentId", ...OPTIONAL],
    ["sessionId", ...OPTIONAL],
    ["label", ...OPTIONAL],
  ],
  ALL_TOOLS_DENIED: [REPLY, ["deniedToolCalls", list(toolUse), NONE]],
  CUSTOM: [REPLY, ["name", ...OPTIONAL], ["value", json, EMPTY]],
};

const READERS = new Map(Object.entries(PLANS).map(([type, plan]) => [type, parts([...COMMON, ...plan])]));

/** One step of an agent's reply; its members are those of the wire. */
export class AgentEvent {
  constructor(type, members) {
    this.type = type;
    Object.assign(this, members);
  }

  /** The same event under another `source`. */
  withSource(source) {
    const { type, ...members } = this;
    return new AgentEvent(type, { ...members, source });
  }
}

/**
 * Read an event; one of a type that this version does not know has the type `UNKNOWN`, and `raw` as it came.
 */
export function readEvent(value) {
  if (value instanceof AgentEvent) return value;
  const given = object(value).type;
  const type = LEGACY[given] ?? given;
  const read = READERS.get(type);
  if (read === undefined) return new AgentEvent("UNKNOWN", unknown(value));
  const members = read(value);
  AFTERWARDS[type]?.(members, value);
  return new AgentEvent(type, members);
}

function unknown(value) {
  const text = (key) => (typeof value[key] === "string" ? value[key] : null);
  return {
    id: text("id") ?? "",
    createdAt: text("createdAt") ?? "",
    source: text("source"),
    metadata: EMPTY,
    replyId: text("replyId") ?? "",
    raw: freeze(value),
  };
}

const AFTERWARDS = {
  /** The usage is nested, as Java writes it, or flat, as the document has it. */
  MODEL_CALL_END(members, value) {
    const flat = Object.fromEntries(["inputTokens", "outputTokens"].map((key) => [key, value[key] ?? null]));
    if (members.usage !== null || Object.values(flat).every((count) => count === null)) return;
    members.usage = readUsage(flat);
  },
  DATA_BLOCK_DELTA(members) {
    if (members.url !== null && members.data) throw new WireError("data or url, not both");
  },
  /** `data` is base64, if it is a text, and else a whole block. */
  TOOL_RESULT_DATA_DELTA(members) {
    const whole = typeof members.data !== "string";
    members.block = whole ? at("data", readBlock, members.data) : null;
    members.data = whole ? "" : members.data;
    if (Boolean(members.data) + (members.url !== null) + whole > 1) throw new WireError("one of data, url and a block");
  },
};

/** Read what may be an event; null if it is none: a stream may carry anything. */
export function eventOrNull(value) {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof WireError) return null;
    throw error;
  }
}

/** Read the text of an event. */
export function loadsEvent(text) {
  try {
    return readEvent(loads(text));
  } catch (error) {
    throw error instanceof SyntaxError ? new WireError(`not JSON: ${error.message}`) : error;
  }
}

const BLANK = /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

/** Whether a call's arguments are unusable: there is text, and it is no JSON object. */
export function inputError(call) {
  return Boolean(call.content) && !BLANK.test(call.content) && loadsObject(call.content) === null;
}

/** A message's text blocks, joined by line ends. */
export function textContent(message) {
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** A message's structured output; null if there is none. */
export function structuredOutput(message) {
  return message.metadata[STRUCTURED_OUTPUT] ?? null;
}
