/** The event stream of a server, over whatever the network does. */

import { ConfigurationError, RefusedError, WireError } from "./errors.js";
import { ReplyFold } from "./fold/index.js";
import { SSEReader } from "./frames.js";
import { isObject, loads } from "./json.js";
import { loadsEvent } from "./wire.js";

const AGAIN = new Set([408, 425, 429, 500, 502, 503, 504]);
const EVICTED = new Set([409, 410]);

/**
 * Read a stream of events, and go on where it broke.
 *
 * 1. It is read by GET; after a break again, with the cursor of what was read as `Last-Event-ID`. `response`
 *    is an answer that is open already, of the POST that started the reply, and is read first.
 * 2. Items are `{kind: "event", event, cursor}`. An event that comes again, as around a break, is dropped.
 * 3. What the server no longer has is `{kind: "gap", cursor, data}`, and what stands in its place
 *    `{kind: "snapshot", checkpoint, cursor}`: a seed of `ReplyFold`. A failure is `{kind: "error", error,
 *    cursor}`.
 * 4. The stream ends with the server's `end` event, with HTTP 204, or with `signal`. All else is a break: the
 *    end of the connection, an error of the network, silence for longer than `idle`, a status that says to
 *    come again. The wait before the next try is what the server asks for (`retry`, `Retry-After`), else
 *    `delay`, and doubles with each try that brings nothing, up to `longest`.
 * 5. A frame that is no event is left out and told to `onBadFrame`; the cursor stays before it until a good
 *    one comes.
 *
 * Units: milliseconds. Errors: `RefusedError` for a status that will not change; `WireError` for a line that is
 * too long.
 */
export function connect(url, options = {}) {
  return new Connection(url, options);
}

class Connection {
  #url;
  #options;
  #seen = new Set();
  #attempts = 0;
  #retry = null;
  #restarted = false;

  /** Where to go on: the cursor of the last item that was taken. */
  cursor;
  /** `"new"`, `"connecting"`, `"open"`, `"waiting"` (for the next try) or `"closed"`. */
  state = "new";

  constructor(url, options) {
    const known = { cursor: "", headers: {}, response: null, signal: null, idle: 45_000, delay: 1_000 };
    this.#url = url;
    this.#options = {
      ...known,
      fetch: (...request) => globalThis.fetch(...request),
      longest: 30_000,
      remember: 10_000,
      onState: () => {},
      onBadFrame: () => {},
      ...options,
    };
    for (const name of ["idle", "delay", "longest", "remember"]) {
      if (!(this.#options[name] > 0)) throw new ConfigurationError(`${name}=${options[name]}: give a number above 0`);
    }
    this.cursor = this.#options.cursor;
  }

  async *[Symbol.asyncIterator]() {
    const { signal } = this.#options;
    let response = this.#options.response;
    try {
      while (!signal?.aborted) {
        const attempt = new Attempt(signal, this.#options.idle);
        let wait = null;
        try {
          response ??= await this.#request(attempt);
          if (response.status === 204) return;
          if (response.ok) {
            if (yield* this.#read(response, attempt)) return;
          } else {
            wait = await this.#refused(response, attempt);
            if (wait === 0) yield { kind: "gap", cursor: this.cursor, data: null };
            if (wait === 0) this.cursor = "";
          }
        } catch (error) {
          if (!(error instanceof BrokenError)) throw error;
        } finally {
          attempt.end();
        }
        response = null;
        if (!signal?.aborted) await this.#wait(wait ?? this.#nextDelay());
      }
    } finally {
      this.#become("closed");
    }
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.#options.onState(state);
  }

  #request(attempt) {
    this.#become("connecting");
    const headers = { accept: "text/event-stream", ...this.#options.headers };
    if (this.cursor) headers["last-event-id"] = this.cursor;
    return attempt.run(this.#options.fetch(this.#url, { headers, cache: "no-store", signal: attempt.signal }));
  }

  /** Yield the items of one answer; return whether they were the last. */
  async *#read(response, attempt) {
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) throw new RefusedError(response.status, `content-type ${type}`);
    this.#become("open");
    const reader = new SSEReader({ lastEventId: this.cursor });
    const body = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await attempt.run(body.read());
        if (done) return false;
        let good = true;
        for (const frame of reader.feed(value)) {
          if (frame.event === "end") return true;
          const item = this.#item(frame);
          good = item !== null;
          if (!good) continue;
          this.cursor = frame.id;
          this.#attempts = 0;
          this.#restarted = false;
          if (item.kind !== "nothing") yield item;
        }
        this.#retry = reader.retry ?? this.#retry;
        if (good) this.cursor = reader.lastEventId;
      }
    } finally {
      body.cancel().catch(() => {}); // it may be broken already
    }
  }

  /** What a frame says; null if it is bad. */
  #item(frame) {
    const cursor = frame.id;
    try {
      switch (frame.event) {
        case "":
        case "message":
          return frame.data.trim() ? this.#event(frame) : { kind: "nothing" };
        case "gap":
          return { kind: "gap", cursor, data: loads(frame.data) };
        case "snapshot":
          return { kind: "snapshot", cursor, checkpoint: loads(frame.data) };
        case "error":
          return { kind: "error", cursor, error: loads(frame.data) };
        default: // heartbeats, and what a newer server may say
          return { kind: "nothing" };
      }
    } catch (error) {
      if (!(error instanceof WireError || error instanceof SyntaxError)) throw error;
      this.#options.onBadFrame(frame, error);
      return null;
    }
  }

  #event(frame) {
    const event = loadsEvent(frame.data);
    if (event.id && this.#seen.has(event.id)) return { kind: "nothing" };
    if (event.id) this.#seen.add(event.id);
    if (this.#seen.size > this.#options.remember) this.#seen.delete(this.#seen.values().next().value);
    return { kind: "event", event, cursor: frame.id };
  }

  /** The wait before the next try, after a status that is none of success; 0 where the cursor is too old. */
  async #refused(response, attempt) {
    if (AGAIN.has(response.status)) {
      await response.body?.cancel();
      const seconds = Number(response.headers.get("retry-after") ?? "none");
      return seconds > 0 ? Math.min(seconds * 1000, this.#options.longest) : null;
    }
    if (EVICTED.has(response.status) && this.cursor && !this.#restarted) {
      this.#restarted = true;
      await response.body?.cancel();
      return 0;
    }
    throw new RefusedError(response.status, await attempt.run(response.text()));
  }

  #nextDelay() {
    const { delay, longest } = this.#options;
    const doubled = Math.min((this.#retry ?? delay) * 2 ** this.#attempts, longest);
    this.#attempts += 1;
    return doubled * (0.5 + Math.random() / 2); // not all readers at once
  }

  #wait(milliseconds) {
    if (milliseconds === 0) return undefined;
    const { signal } = this.#options;
    this.#become("waiting");
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal?.addEventListener("abort", done);
    });
  }
}

/** The connection broke, whatever the network or the time says. */
class BrokenError extends Error {}

/** One connection: ends with the signal of the user, or after silence. */
class Attempt {
  #controller = new AbortController();
  #outer;
  #idle;
  #abort = () => this.#controller.abort();

  constructor(outer, idle) {
    this.#outer = outer;
    this.#idle = idle;
    outer?.addEventListener("abort", this.#abort);
  }

  get signal() {
    return this.#controller.signal;
  }

  /** Wait for the network, but not longer than silence may last. Errors: `BrokenError`. */
  run(promise) {
    return new Promise((resolve, reject) => {
      const stop = () => reject(new BrokenError("the connection was left"));
      const timer = setTimeout(this.#abort, this.#idle);
      this.signal.addEventListener("abort", stop);
      if (this.signal.aborted) stop();
      promise
        .then(resolve, (error) => reject(new BrokenError(error?.message)))
        .finally(() => {
          clearTimeout(timer);
          this.signal.removeEventListener("abort", stop);
        });
    });
  }

  end() {
    this.#outer?.removeEventListener("abort", this.#abort);
    this.#abort();
  }
}

/**
 * Follow one reply over the network: yield `{message, complete, gap, error, cursor}` after every item.
 *
 * A snapshot takes the place of what was folded before. `gap` says that events are missing and no snapshot has
 * come yet; `checkpoint()` of the `fold` in each item, with its cursor, is where a later `follow` goes on
 * (`seed`, `cursor`), as after a reload.
 */
export async function* follow(url, { replyId = null, seed = null, scope = "reply", ...options } = {}) {
  let fold = new ReplyFold({ replyId, seed, scope });
  let [gap, error] = [false, null];
  for await (const item of connect(url, options)) {
    if (item.kind === "event") fold.apply(item.event);
    else if (item.kind === "gap") gap = true;
    else if (item.kind === "error") error = isObject(item.error) ? item.error : { type: "Error", message: "" };
    else [fold, gap] = [new ReplyFold({ seed: item.checkpoint }), false];
    yield { message: fold.empty ? null : fold.message(), complete: fold.complete, gap, error, cursor: item.cursor, fold };
  }
}
