/** What a fold knows of a reply. */

import { EMPTY } from "../json.js";
import { CallGroup } from "./group.js";
import { Ids } from "./ids.js";
import { Reasons } from "./reasons.js";

/** Reasons behind which nothing follows; the others are of pauses and stops, and none of a failure. */
const FINAL = new Set(["MODEL_STOP", "STRUCTURED_OUTPUT", "INTERRUPTED", "MAX_ITERATIONS"]);

/**
 * A reply, as far as its events have come.
 *
 * - `replyId`: the reply; null until the first one speaks.
 * - `scope`: what makes one message.
 * - `ours`: whether the event before this one was the reply's.
 * - `ids`: the events that were the reply's.
 * - `settled`: whether the reply has ended.
 * - `started`: whether its AgentStart has come.
 * - `modelCall`: how many model calls have begun.
 * - `blocks`: all blocks, in order of opening; `built`: what the first of them have become for good.
 * - `text`, `thinking`, `data`: the open blocks by their `blockId`.
 * - `calls`: the groups by their `toolCallId`.
 * - `ending`: groups whose call has ended in this model call.
 * - `asked`: the calls that wait for an answer, and maybe some that did.
 * - `messageId`, `name`, `createdAt`, `usage`, `metadata`: of the message; its id is the reply's if it has none.
 * - `reasons`: why the reply stops.
 */
export class FoldState {
  constructor(replyId, scope) {
    this.replyId = replyId;
    this.scope = scope;
    this.ours = replyId === null;
    this.ids = new Ids();
    this.clear();
  }

  /** Let the first reply speak: what came before belongs to none. */
  begin(replyId) {
    this.clear();
    this.replyId = replyId;
  }

  /** Forget what the events have said; that they came is still known. */
  clear() {
    this.settled = false;
    this.started = false;
    this.modelCall = 0;
    this.blocks = [];
    this.built = [];
    this.text = new Map();
    this.thinking = new Map();
    this.data = new Map();
    this.calls = new Map();
    this.ending = [];
    this.asked = new Set();
    this.messageId = null;
    this.name = null;
    this.createdAt = null;
    this.usage = null;
    this.metadata = EMPTY;
    this.reasons = new Reasons();
  }

  /** The group of a call id; a new one if there is none. */
  group(callId) {
    let group = this.calls.get(callId);
    if (group === undefined) {
      group = new CallGroup(callId, this.blocks);
      this.calls.set(callId, group);
    }
    return group;
  }

  /** Why the reply has ended, as far as one knows. */
  generateReason() {
    return this.reasons.current(new Set(Array.from(this.#waiting(), (call) => call.state)));
  }

  /** Whether a call waits for an answer or an outcome. */
  get waits() {
    return this.#waiting().size > 0;
  }

  /** Whether the reply has ended, and nobody is expected to go on with it. */
  get finished() {
    return this.settled && !this.waits && FINAL.has(this.generateReason());
  }

  #waiting() {
    for (const call of this.asked) if (!call.waits) this.asked.delete(call);
    return this.asked;
  }
}
