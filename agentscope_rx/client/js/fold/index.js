/**
 * The fold of a reply's events to its message: pure, step by step.
 *
 *     own events   own.js        those of the reply, each once, none behind its end
 *     → key        *_steps.js    a block's kind and blockId; a call's toolCallId; or the message itself
 *     → group      FoldState     text, thinking, data: an open block each; calls: a CallGroup each
 *     → reduce     *_steps.js    the group with one event more; its block() is what it has become
 *     → message    ReplyFold     the blocks in order of opening, and what is said about the message as a whole
 *
 * It has the parts of `agentscope_rx/operators/_fold` under the same names; both run on the same cases.
 */

export { ReplyFold } from "./reply.js";
