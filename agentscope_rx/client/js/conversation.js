/** A conversation as a page shows it: what the user has said, the replies, and the subagents' threads. */

import { ReplyFold } from "./fold/index.js";
import { eventOrNull, readMessage } from "./wire.js";

/**
 * Events in, turns out.
 *
 * 1. `turns` are messages in order of opening: `{message, complete, error}`; those of replies stay the same
 *    object until an event changes them.
 * 2. Events with a `source` go to the thread of that path; a thread of a thread's path is nested in it.
 *    `anchor` of a thread is the id of the tool call that it seems to run for: the oldest one without a
 *    result, when the thread began, that no other thread has; null if there is none.
 * 3. `rules` are those that a question suggests, by the id of its call.
 */
export class Conversation {
  #turns = [];
  #byReply = new Map();
  #speaker = null;
  threads = new Map();
  rules = new Map();

  constructor(anchor = null) {
    this.anchor = anchor;
  }

  /** Take a message that is whole: of the user, or of a history. */
  add(message) {
    this.#turns.push({ turn: Object.freeze({ message: readMessage(message), complete: true, error: null }) });
  }

  /** Take what an item of `connect` brings. */
  take(item) {
    if (item.kind === "event") this.apply(item.event);
    else if (item.kind === "snapshot") this.#restore(new ReplyFold({ seed: item.checkpoint }));
  }

  apply(given) {
    const event = eventOrNull(given);
    if (event === null) return;
    if (event.source) {
      this.#thread(event.source).apply(event.withSource(null));
      return;
    }
    const reply = this.#replyOf(event);
    if (reply === null) return;
    if (event.type === "REQUIRE_USER_CONFIRM") {
      for (const [id, rules] of Object.entries(event.suggestedRules)) this.rules.set(id, rules);
    }
    if (!reply.fold.apply(event)) return;
    if (event.type === "AGENT_START") reply.error = null;
    if (event.type === "AGENT_END") reply.error = event.error;
    reply.turn = null;
  }

  #replyOf(event) {
    if (!event.replyId) return this.#speaker;
    this.#speaker = this.#byReply.get(event.replyId) ?? this.#restore(new ReplyFold({ replyId: event.replyId }));
    return this.#speaker;
  }

  #restore(fold) {
    const known = this.#byReply.get(fold.replyId);
    const reply = known ?? { fold, error: null, turn: null };
    Object.assign(reply, { fold, turn: null });
    if (known === undefined) {
      this.#byReply.set(fold.replyId, reply);
      this.#turns.push(reply);
    }
    return reply;
  }

  #thread(path) {
    for (const [known, thread] of this.threads) {
      if (path === known) return thread;
      if (path.startsWith(`${known}/`)) return thread.#thread(path);
    }
    const thread = new Conversation(this.#freeCall());
    this.threads.set(path, thread);
    return thread;
  }

  #freeCall() {
    const taken = new Set(Array.from(this.threads.values(), (thread) => thread.anchor));
    const content = this.#speaker?.fold.content() ?? [];
    const free = content.find(
      (block) => block.type === "tool_use" && block.state !== "finished" && !taken.has(block.id),
    );
    return free?.id ?? null;
  }

  get turns() {
    return this.#turns
      .filter((entry) => entry.turn || !entry.fold.empty)
      .map((entry) => {
        entry.turn ??= Object.freeze({
          message: entry.fold.message(),
          complete: entry.fold.complete,
          error: entry.error,
        });
        return entry.turn;
      });
  }

  /** Whether the reply that spoke last has not ended. */
  get running() {
    return this.#speaker !== null && !this.#speaker.fold.empty && !this.#speaker.fold.complete;
  }

  /** The calls of the newest reply that wait for an answer, and the reply; null if none does. */
  get question() {
    const turn = this.turns.at(-1);
    const calls = turn?.message.content.filter((block) => block.type === "tool_use" && block.state === "asking") ?? [];
    return calls.length > 0 ? { replyId: turn.message.id, calls } : null;
  }
}
