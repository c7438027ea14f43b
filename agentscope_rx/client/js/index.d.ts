/**
 * Types of the client of agentscope_rx for browsers, and for Node. Values have the members of the wire: what
 * the server writes as `{"type": "text", "text": "…"}` is that here.
 */

export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

export type MsgRole = "USER" | "ASSISTANT" | "SYSTEM" | "TOOL";
export type ToolCallState = "pending" | "asking" | "allowed" | "submitted" | "finished";
export type ToolResultState = "success" | "error" | "interrupted" | "denied" | "running";
export type GenerateReason =
  | "MODEL_STOP"
  | "TOOL_CALLS"
  | "STRUCTURED_OUTPUT"
  | "TOOL_SUSPENDED"
  | "REASONING_STOP_REQUESTED"
  | "ACTING_STOP_REQUESTED"
  | "PERMISSION_ASKING"
  | "MIDDLEWARE_STOP_REQUESTED"
  | "ALL_TOOLS_DENIED"
  | "INTERRUPTED"
  | "MAX_ITERATIONS";

export type MediaSource =
  | { readonly type: "base64"; readonly media_type: string; readonly data: string }
  | { readonly type: "url"; readonly url: string; readonly mime_type?: string };

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  readonly metadata?: JsonObject;
}
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly metadata: JsonObject | null;
}
export interface DataBlock {
  readonly type: "data";
  readonly source: MediaSource;
  readonly id: string;
  readonly name?: string;
  readonly metadata?: JsonObject;
}
/** Media as Java writes them. */
export interface MediaBlock {
  readonly type: "image" | "audio" | "video";
  readonly source: MediaSource | null;
}
export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  /** The arguments; `{}` as long as `content` is no JSON object. Integers beyond 2^53 are a BigInt. */
  readonly input: JsonObject;
  /** The arguments as the model wrote them. */
  readonly content: string | null;
  readonly metadata: JsonObject;
  readonly state: ToolCallState;
}
export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly id: string;
  readonly name: string;
  readonly output: readonly ContentBlock[];
  readonly metadata: JsonObject;
  readonly state: ToolResultState;
}
export interface HintBlock {
  readonly type: "hint";
  readonly id: string;
  readonly hint: string;
  readonly source: string | null;
}
export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | DataBlock
  | MediaBlock
  | ToolUseBlock
  | ToolResultBlock
  | HintBlock;

export interface ChatUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly totalTokens: number;
  /** Seconds. */
  readonly time: number;
}

/** A message; it does not change. */
export interface Msg {
  readonly id: string;
  readonly name: string | null;
  readonly role: MsgRole;
  readonly content: readonly ContentBlock[];
  readonly metadata: JsonObject;
  readonly timestamp: string;
  readonly usage: ChatUsage | null;
  readonly generateReason: GenerateReason | null;
}

export interface ConfirmResult {
  readonly confirmed: boolean;
  readonly toolCall: ToolUseBlock | null;
  readonly rules: readonly JsonObject[] | null;
}

type Call = { readonly toolCallId: string; readonly toolCallName: string };
type Block = { readonly blockId: string };
type Delta = { readonly delta: string };

/** What each type of event has beyond what all have. */
export interface EventMembers {
  AGENT_START: { readonly sessionId: string | null; readonly name: string | null; readonly role: string };
  AGENT_END: {
    readonly generateReason: GenerateReason | null;
    readonly error: { readonly type: string; readonly message: string } | null;
  };
  AGENT_RESULT: { readonly result: Msg | null };
  MODEL_CALL_START: { readonly modelName: string | null };
  MODEL_CALL_END: { readonly usage: ChatUsage | null };
  TEXT_BLOCK_START: Block;
  TEXT_BLOCK_DELTA: Block & Delta;
  TEXT_BLOCK_END: Block;
  THINKING_BLOCK_START: Block;
  THINKING_BLOCK_DELTA: Block & Delta;
  THINKING_BLOCK_END: Block;
  DATA_BLOCK_START: Block & { readonly mediaType: string | null };
  DATA_BLOCK_DELTA: Block & {
    readonly data: string;
    readonly url: string | null;
    readonly mediaType: string | null;
  };
  DATA_BLOCK_END: Block;
  HINT_BLOCK: Block & { readonly hintSource: string | null; readonly hint: string };
  TOOL_CALL_START: Call;
  TOOL_CALL_DELTA: Call & Delta;
  TOOL_CALL_END: Call;
  TOOL_RESULT_START: Call;
  TOOL_RESULT_TEXT_DELTA: Call & Delta;
  TOOL_RESULT_DATA_DELTA: Call &
    Block & {
      readonly data: string;
      readonly url: string | null;
      readonly block: ContentBlock | null;
      readonly mediaType: string | null;
    };
  TOOL_RESULT_END: Call & { readonly state: ToolResultState };
  EXCEED_MAX_ITERS: { readonly maxIters: number; readonly currentIter: number };
  REQUIRE_USER_CONFIRM: {
    readonly toolCalls: readonly ToolUseBlock[];
    readonly suggestedRules: { readonly [callId: string]: readonly JsonObject[] };
  };
  REQUIRE_EXTERNAL_EXECUTION: { readonly toolCalls: readonly ToolUseBlock[] };
  USER_CONFIRM_RESULT: { readonly confirmResults: readonly ConfirmResult[] };
  EXTERNAL_EXECUTION_RESULT: { readonly toolResults: readonly ToolResultBlock[] };
  REQUEST_STOP: { readonly reason: string | null; readonly generateReason: GenerateReason };
  SUBAGENT_EXPOSED: {
    readonly subagentId: string | null;
    readonly agentId: string | null;
    readonly sessionId: string | null;
    readonly label: string | null;
  };
  ALL_TOOLS_DENIED: { readonly deniedToolCalls: readonly ToolUseBlock[] };
  CUSTOM: { readonly name: string | null; readonly value: JsonObject };
  /** An event of a newer server, as it came. */
  UNKNOWN: { readonly raw: JsonObject };
}

export type AgentEventType = keyof EventMembers;

interface EventCommon<T> {
  readonly type: T;
  readonly id: string;
  readonly createdAt: string;
  readonly source: string | null;
  readonly metadata: JsonObject;
  readonly replyId: string;
  withSource(source: string | null): AgentEvent;
}

/** One step of an agent's reply; `switch (event.type)` tells which. */
export type AgentEvent = { [T in AgentEventType]: EventCommon<T> & EventMembers[T] }[AgentEventType];
export const AgentEvent: { readonly prototype: AgentEvent };

/** An event of `readEvent`, or a JSON object that may be one. */
export type EventLike = AgentEvent | object;

/** What a fold goes on from: a paused message, or a checkpoint, of this module or of the server. */
export type Seed = Msg | Checkpoint | object;
export type Checkpoint = { readonly version: 1; readonly [key: string]: unknown };

export interface FoldOptions {
  /** The reply; by default the first that speaks. */
  replyId?: string | null;
  seed?: Seed | null;
  /** `"call"` makes one message of everything from AGENT_START to AGENT_END. */
  scope?: "reply" | "call";
}

/** One reply's message, as far as its events have come. */
export class ReplyFold {
  constructor(options?: FoldOptions);
  readonly replyId: string | null;
  readonly empty: boolean;
  readonly complete: boolean;
  readonly waits: boolean;
  readonly finished: boolean;
  apply(event: EventLike): boolean;
  content(): readonly ContentBlock[];
  message(): Msg;
  generateReason(): GenerateReason | null;
  checkpoint(): Checkpoint;
  copy(): ReplyFold;
}

export interface StreamOptions extends Omit<FoldOptions, "replyId"> {
  /** How many finished replies are known by their ids. */
  remember?: number;
}

/** The replies of a stream that are not finished, and who speaks. */
export class Replies {
  constructor(options?: StreamOptions);
  take(event: EventLike): Msg | null;
  running(): ReplyFold[];
}

export type EventStream = Iterable<EventLike> | AsyncIterable<EventLike>;

export function toMsg(source: EventStream, options?: FoldOptions): Promise<Msg | null>;
export function toMsgs(source: EventStream, options?: StreamOptions): AsyncGenerator<Msg, void, void>;
export function snapshots(source: EventStream, options?: FoldOptions): AsyncGenerator<Msg | null, void, void>;
export function bySource(path: string, source: EventStream): AsyncGenerator<AgentEvent, void, void>;

export function readEvent(value: unknown): AgentEvent;
export function loadsEvent(text: string): AgentEvent;
export function readMessage(value: unknown): Msg;
export function readBlock(value: unknown): ContentBlock;
export function textContent(message: Msg): string;
export function structuredOutput(message: Msg): JsonValue;
export function inputError(call: ToolUseBlock): boolean;

/** Parse JSON; integers that a number does not have exactly are a BigInt. */
export function loads(text: string): unknown;
/** Write JSON, also where there is a BigInt. */
export function dumps(value: unknown): string;

export interface Frame {
  readonly data: string;
  readonly event: string;
  readonly id: string;
}

/** Bytes in, server-sent events out. */
export class SSEReader {
  constructor(options?: { limit?: number; lastEventId?: string });
  readonly lastEventId: string;
  readonly retry: number | null;
  feed(chunk: Uint8Array): Frame[];
}

export type ConnectionState = "new" | "connecting" | "open" | "waiting" | "closed";

/** Times are in milliseconds. */
export interface ConnectOptions {
  /** Where to begin; by default where the server does. */
  cursor?: string;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
  /** An answer that is open already, as of the POST that started the reply; it is read first. */
  response?: Response | null;
  signal?: AbortSignal | null;
  /** Silence that ends a connection: longer than the server's heartbeats are apart. */
  idle?: number;
  /** Wait before the next try, unless the server says one; doubles up to `longest`. */
  delay?: number;
  longest?: number;
  /** How many ids of events are known, to drop what comes again. */
  remember?: number;
  onState?: (state: ConnectionState) => void;
  onBadFrame?: (frame: Frame, error: Error) => void;
}

export type StreamItem =
  | { readonly kind: "event"; readonly event: AgentEvent; readonly cursor: string }
  | { readonly kind: "gap"; readonly data: unknown; readonly cursor: string }
  | { readonly kind: "snapshot"; readonly checkpoint: Checkpoint; readonly cursor: string }
  | { readonly kind: "error"; readonly error: { type: string; message: string }; readonly cursor: string };

export interface Connection extends AsyncIterable<StreamItem> {
  readonly cursor: string;
  readonly state: ConnectionState;
}

/** Read a stream of events, and go on where it broke. */
export function connect(url: string | URL, options?: ConnectOptions): Connection;

export interface Followed {
  readonly message: Msg | null;
  readonly complete: boolean;
  /** Whether events are missing, and no snapshot has come yet. */
  readonly gap: boolean;
  readonly error: { readonly type: string; readonly message: string } | null;
  readonly cursor: string;
  readonly fold: ReplyFold;
}

/** Follow one reply over the network. */
export function follow(
  url: string | URL,
  options?: FoldOptions & ConnectOptions,
): AsyncGenerator<Followed, void, void>;

/** A message as a page shows it; the same object until an event changes it. */
export interface Turn {
  readonly message: Msg;
  readonly complete: boolean;
  readonly error: { readonly type: string; readonly message: string } | null;
}

/** A conversation: what the user has said, the replies, and the subagents' threads. */
export class Conversation {
  readonly turns: Turn[];
  readonly threads: ReadonlyMap<string, Conversation>;
  /** Of a thread: the tool call that it seems to run for. */
  readonly anchor: string | null;
  /** Rules that questions suggest, by the ids of their calls. */
  readonly rules: ReadonlyMap<string, readonly JsonObject[]>;
  readonly running: boolean;
  readonly question: { readonly replyId: string; readonly calls: readonly ToolUseBlock[] } | null;
  add(message: object): void;
  take(item: StreamItem): void;
  apply(event: EventLike): void;
}

export class AgentScopeError extends Error {
  partial: Msg | null;
}
export class ConfigurationError extends AgentScopeError {}
export class WireError extends AgentScopeError {
  constructor(problem: string, path?: string);
  readonly problem: string;
  readonly path: string;
}
export class RefusedError extends AgentScopeError {
  readonly status: number;
  readonly body: string;
}
