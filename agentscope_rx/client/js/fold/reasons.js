/** Why a reply ended (R18). */

/** Reasons that an answer withdraws, and the state of the calls that wait for it. */
const ASKED = new Map([
  ["PERMISSION_ASKING", "asking"],
  ["TOOL_SUSPENDED", "submitted"],
]);

/** The stop signals since the reply started, and what its end has said. */
export class Reasons {
  #stops = [];
  #answered = new Map();
  #said = null;
  #otherwise = null;

  stop(reason) {
    this.#stops.push([reason, false]);
  }

  /** A question stops the reply, as long as a call waits for the answer. */
  ask(reason) {
    this.#stops.push([reason, true]);
  }

  /** Signals so far that say the same as a question count only as long as a call waits. */
  answer(reason) {
    this.#answered.set(reason, this.#stops.length);
  }

  end(reason, failed) {
    if (reason !== null) this.#said = reason;
    else if (failed) this.#stops = [];
    else this.#otherwise = "MODEL_STOP";
  }

  /** The reasons as JSON. */
  save() {
    return {
      stops: this.#stops.map((stop) => [...stop]),
      answered: Object.fromEntries(this.#answered),
      said: this.#said,
      otherwise: this.#otherwise,
    };
  }

  /** The reasons that were saved. */
  static load(saved) {
    const reasons = new Reasons();
    reasons.#stops = saved.stops.map(([reason, asked]) => [reason, asked]);
    reasons.#answered = new Map(Object.entries(saved.answered));
    reasons.#said = saved.said || null;
    reasons.#otherwise = saved.otherwise || null;
    return reasons;
  }

  /** The reason as of now; `waiting` are the states of the calls that wait. */
  current(waiting) {
    if (this.#said !== null) return this.#said;
    for (let index = this.#stops.length - 1; index >= 0; index--) {
      const [reason, asked] = this.#stops[index];
      const openQuestion = asked || index < (this.#answered.get(reason) ?? 0);
      if (!openQuestion || waiting.has(ASKED.get(reason))) return reason;
    }
    return this.#otherwise;
  }
}
