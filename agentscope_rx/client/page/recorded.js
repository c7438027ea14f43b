/** A transport that plays recorded events, so that the page can be looked at without a server. */

/** Play the lines of a file; `pause` milliseconds lie between two events. */
export class Recorded {
  #lines;
  #pause;
  #queue = [];
  #wake = () => {};
  #playing = 0;
  #round = 0;

  constructor(text, pause = 25) {
    this.#lines = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    this.#pause = pause;
  }

  async *items() {
    for (;;) {
      while (this.#queue.length > 0) {
        const event = this.#queue.shift();
        if (this.#pause > 0) await new Promise((resolve) => setTimeout(resolve, this.#pause));
        yield { kind: "event", event, cursor: "" };
      }
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  #put(events) {
    this.#queue.push(...events);
    this.#wake();
  }

  /** Play up to the next question, or to the end; then from the beginning. */
  #play() {
    const from = this.#playing;
    const rest = this.#lines.slice(from);
    const at = rest.findIndex(({ type, source }) => !source && (type === "REQUIRE_USER_CONFIRM" || type === "AGENT_END"));
    const next = rest.slice(0, at < 0 ? rest.length : at + 1);
    this.#playing = (from + next.length) % this.#lines.length;
    this.#put(next.map((event) => ({ ...event, id: `${this.#round}/${event.id}`, replyId: `${this.#round}/${event.replyId}` })));
  }

  async send() {
    this.#round += this.#playing === 0;
    this.#play();
  }

  async confirm(replyId, confirmResults) {
    this.#put([{ type: "USER_CONFIRM_RESULT", replyId, confirmResults }]);
    this.#play();
  }

  async stop() {
    const replyId = this.#queue.find((event) => event.replyId && !event.source)?.replyId ?? "";
    this.#queue = [];
    this.#playing = 0;
    this.#put([{ type: "AGENT_END", replyId, generateReason: "INTERRUPTED" }]);
  }
}
