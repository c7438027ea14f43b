/** Streams of events, folded: sources are arrays, or whatever `for await` reads. */

import { AgentScopeError, ConfigurationError } from "./errors.js";
import { ReplyFold } from "./fold/index.js";
import { eventOrNull } from "./wire.js";

/**
 * Fold one reply's events into its message; null if no event was the reply's.
 *
 * An error of the source is passed on; ours carry the message as `partial`.
 */
export async function toMsg(source, options = {}) {
  const fold = new ReplyFold(options);
  try {
    for await (const event of source) fold.apply(event);
  } catch (error) {
    if (error instanceof AgentScopeError && !fold.empty) error.partial = fold.message();
    throw error;
  }
  return fold.empty ? null : fold.message();
}

/**
 * Fold each reply of a long stream into its message.
 *
 * 1. Events are grouped by reply, and each reply is folded as by `toMsg`; replies may run side by side.
 * 2. A reply's message is yielded at its AgentEnd, and again, fuller, when a paused reply went on and ends.
 * 3. When the source ends or fails, the messages of replies that still run are yielded first.
 * 4. Of a finished reply only the id is kept once another one speaks, of the newest `remember`.
 */
export async function* toMsgs(source, options = {}) {
  const replies = new Replies(options);
  let failure = null;
  try {
    for await (const event of source) {
      const ended = replies.take(event);
      if (ended !== null) yield ended;
    }
  } catch (error) {
    failure = { error };
  }
  for (const fold of replies.running()) yield fold.message();
  if (failure !== null) throw failure.error;
}

/** Yield, after every event, the message so far; null as long as no event was the reply's. */
export async function* snapshots(source, options = {}) {
  const fold = new ReplyFold(options);
  for await (const event of source) {
    fold.apply(event);
    yield fold.empty ? null : fold.message();
  }
}

/** Keep the events of one subagent, and take its path off, so that they fold as if it were alone. */
export async function* bySource(path, source) {
  for await (const given of source) {
    const event = eventOrNull(given);
    if (event?.source === path) yield event.withSource(null);
  }
}

/** The replies of a stream that are not finished, and who speaks. */
export class Replies {
  #scope;
  #remember;
  #folds = new Map();
  #finished = new Set();
  #speaker;

  constructor({ seed = null, scope = "reply", remember = 1000 } = {}) {
    if (!(remember >= 0)) throw new ConfigurationError(`remember=${remember}: give a number of replies, 0 or more`);
    this.#scope = scope;
    this.#remember = remember;
    this.#speaker = new ReplyFold({ seed, scope });
    if (seed !== null) this.#folds.set(this.#speaker.replyId ?? "", this.#speaker);
  }

  /** Give an event to its reply; return the message of a reply that has ended with it, else null. */
  take(given) {
    const event = eventOrNull(given);
    if (event === null) return null;
    let fold = this.#speaker;
    if (fold === null || !fold.apply(event)) {
      if (this.#stays(event)) return null;
      fold = this.#handOver(event.replyId);
      if (fold === null || !fold.apply(event)) return null;
    }
    const id = fold.replyId ?? "";
    if (!this.#folds.has(id)) this.#folds.set(id, fold);
    return event.type === "AGENT_END" ? fold.message() : null;
  }

  /** Whether an event that the speaker did not take leaves the word to it. */
  #stays(event) {
    if (event.source || (this.#scope === "call" && event.type !== "AGENT_START")) return true;
    return !event.replyId || event.replyId === this.#speaker?.replyId;
  }

  /** Let another reply speak, if it is not finished; the one before is forgotten, if that is. */
  #handOver(replyId) {
    const before = this.#speaker;
    if (before?.finished) {
      this.#folds.delete(before.replyId ?? "");
      this.#finished.add(before.replyId ?? "");
      if (this.#finished.size > this.#remember) this.#finished.delete(this.#finished.values().next().value);
    }
    this.#speaker = this.#finished.has(replyId)
      ? null
      : (this.#folds.get(replyId) ?? new ReplyFold({ replyId, scope: this.#scope }));
    return this.#speaker;
  }

  /** The replies that have not ended, in order of opening. */
  running() {
    return [...new Set(this.#folds.values())].filter((fold) => !fold.complete);
  }
}
