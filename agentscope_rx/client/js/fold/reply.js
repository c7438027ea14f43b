/** The fold of one reply, step by step: own events → key → group → message. */

import { ConfigurationError } from "../errors.js";
import { own } from "../json.js";
import { formatTimestamp } from "../time.js";
import { eventOrNull, withoutNulls } from "../wire.js";
import { BLOCK_STEPS } from "./block_steps.js";
import { CALL_STEPS } from "./call_steps.js";
import { grow, save } from "./checkpoint.js";
import { MESSAGE_STEPS } from "./message_steps.js";
import { takes } from "./own.js";
import { FoldState } from "./state.js";

const STEPS = new Map(Object.entries({ ...BLOCK_STEPS, ...CALL_STEPS, ...MESSAGE_STEPS }));

/**
 * One reply's message, as far as its events have come.
 *
 * 1. An event is the reply's own, or it is passed over.
 * 2. Its key names a group: a text, a thinking or a data block by `blockId`; a tool call with its result, its
 *    questions and its answers by `toolCallId`.
 * 3. Its step adds to the group, or to what is said about the message as a whole.
 * 4. The message is the reduce of the groups to their blocks, in order of opening.
 *
 * `apply` takes any event, in order of arrival, and never fails; `message` gives the message of this moment,
 * which does not change afterwards, and whose blocks stay the same values until they change.
 */
export class ReplyFold extends FoldState {
  constructor({ replyId = null, seed = null, scope = "reply" } = {}) {
    if (scope !== "reply" && scope !== "call") {
      throw new ConfigurationError(`scope=${JSON.stringify(scope)} is neither "reply" nor "call"`);
    }
    super(replyId, scope);
    if (seed === null) return;
    grow(this, seed);
    if (replyId !== null && replyId !== this.replyId) {
      throw new ConfigurationError(`replyId=${replyId}, but the seed is of ${this.replyId}; give one of the two`);
    }
  }

  /** Whether no event was this reply's. */
  get empty() {
    return this.createdAt === null;
  }

  /** Whether the reply has ended, and nothing has started it again. */
  get complete() {
    return this.settled;
  }

  /** Take the next event of a stream; return whether it was the reply's own, new and in time. */
  apply(given) {
    const event = eventOrNull(given);
    if (event === null || !takes(this, event)) return false;
    STEPS.get(event.type)?.(this, event);
    return true;
  }

  /** The blocks so far, in order of opening; what is final at their head is built once. */
  content() {
    const built = this.built;
    while (built.length < this.blocks.length && this.blocks[built.length].final) {
      built.push(this.blocks[built.length].block());
    }
    return own([...built, ...this.blocks.slice(built.length).map((draft) => draft.block())]);
  }

  /** The message so far. */
  message() {
    return own({
      id: this.messageId || this.replyId || "",
      name: this.name,
      role: "ASSISTANT",
      content: this.content(),
      metadata: withoutNulls(this.metadata),
      timestamp: formatTimestamp(this.createdAt ?? ""),
      usage: this.usage,
      generateReason: this.generateReason(),
    });
  }

  /** All that the fold knows as a JSON value; given as `seed`, it goes on from there. */
  checkpoint() {
    return save(this);
  }

  /** A fold that knows the same, and takes other events from here on. */
  copy() {
    return new ReplyFold({ seed: save(this) });
  }
}
