/** All that one tool call id names: calls and their results (R8–R12). */

import { CallDraft } from "./call.js";
import { ResultDraft } from "./result.js";

/**
 * A tool call with its result, its questions and its answers; again, if the id comes again.
 *
 * `call`: the newest call; null where only results came. `result`: the newest result. `fragments`: the draft
 * that a fragment of arguments goes to; null if it goes nowhere.
 */
export class CallGroup {
  #blocks;
  call = null;
  result = null;
  fragments = null;

  constructor(id, blocks) {
    this.id = id;
    this.#blocks = blocks;
  }

  /** The newest result of the newest call. */
  get ownResult() {
    return this.result !== null && this.result.call === this.call ? this.result : null;
  }

  start(name, modelCall) {
    const call = this.call;
    if (call !== null && call.modelCall === modelCall && (call.open || this.ownResult === null)) {
      call.open = true;
      if (!call.name && !call.finished) call.rename(name);
    } else {
      this.#seal();
      this.call = new CallDraft(this.id, name, modelCall);
      this.#blocks.push(this.call);
    }
    this.fragments = this.call;
  }

  /** Let no fragment come any more. */
  #seal() {
    this.fragments = null;
    if (this.call !== null) this.call.sealed = true;
  }

  /** End the arguments; fragments may follow until the result starts or the next model call does. */
  end(metadata, modelCall) {
    if (this.call?.open) {
      this.call.end(metadata);
      if (this.ownResult !== null || this.call.modelCall !== modelCall) this.#seal();
    }
  }

  endModelCall() {
    if (this.call !== null && !this.call.open) this.#seal();
  }

  startResult(name) {
    const result = this.ownResult;
    if (result === null || !result.open) this.#openResult(name);
    else if (result.suspended) result.restart(name);
  }

  #openResult(name) {
    this.result = new ResultDraft(this.id, name, this.call);
    this.#blocks.push(this.result);
    if (this.call !== null && !this.call.open) this.#seal();
    return this.result;
  }

  endResult(name, state, metadata) {
    const result = this.result;
    if (!result?.open) return;
    result.name = result.name || name;
    result.end(state, metadata);
    if (!result.open) result.call?.move("finished");
  }

  /** Let the call wait for an answer; return it if it does. */
  ask(state) {
    if (this.call === null || this.call.finished) return null;
    this.call.move(state);
    return this.call;
  }

  answer(answer) {
    const call = this.call;
    if (call?.state !== "asking") return;
    call.move(answer.confirmed ? "allowed" : "finished");
    if (answer.confirmed && answer.toolCall !== null) call.takeOver(answer.toolCall);
  }

  /** Let an outcome from outside be the result, unless the call is settled. */
  takeOutcome(outcome) {
    const call = this.call;
    if (call?.finished) return;
    let result = this.ownResult;
    if (result === null) result = this.#openResult(outcome.name);
    else if (!result.open) return;
    result.become(outcome);
    call?.move("finished");
  }
}
