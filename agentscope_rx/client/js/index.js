/**
 * The client of agentscope_rx for browsers, and for Node: the event stream over the network, and the messages
 * that it makes. No dependencies.
 *
 *     import { ReplyFold, follow } from "./index.js";
 *     const fold = new ReplyFold();
 *     for (const event of events) fold.apply(event);
 *     fold.message();
 *     for await (const { message } of follow("/replies/r1/events")) show(message);
 */

export { connect, follow } from "./connect.js";
export { Conversation } from "./conversation.js";
export { AgentScopeError, ConfigurationError, RefusedError, WireError } from "./errors.js";
export { ReplyFold } from "./fold/index.js";
export { SSEReader } from "./frames.js";
export { dumps, loads } from "./json.js";
export { Replies, bySource, snapshots, toMsg, toMsgs } from "./replies.js";
export {
  AgentEvent,
  inputError,
  loadsEvent,
  readBlock,
  readEvent,
  readMessage,
  structuredOutput,
  textContent,
} from "./wire.js";
