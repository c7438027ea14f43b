/** A tool call while it streams (R8, R11, R16). */

import { EMPTY, dumps, freeze, isEmpty, loadsObject, own, same } from "../json.js";
import { ofProvider } from "./drafts.js";
import { Chunked } from "./text.js";

/**
 * A tool call; its chunks are the fragments of its arguments.
 *
 * `open`: its End has not come. `sealed`: no fragment comes any more.
 */
export class CallDraft extends Chunked {
  open = true;
  sealed = false;
  state = "pending";
  metadata = EMPTY;
  #content = null;
  #input = EMPTY;
  #block = null;

  constructor(id, name, modelCall) {
    super();
    this.id = id;
    this.name = name;
    this.modelCall = modelCall;
  }

  /** Make the draft of a call that was streamed before. */
  static of(block) {
    const draft = new CallDraft(block.id, block.name, -1);
    draft.open = false;
    draft.sealed = true;
    draft.state = block.state;
    draft.metadata = block.metadata;
    draft.add(block.content ?? "");
    draft.read();
    draft.#content = block.content;
    draft.#input = block.input;
    draft.#block = block;
    return draft;
  }

  /** Whether the call needs no result any more. */
  get finished() {
    return this.state === "finished";
  }

  /** Whether the call waits for an answer or an outcome. */
  get waits() {
    return this.state === "asking" || this.state === "submitted";
  }

  get final() {
    return this.sealed && this.finished;
  }

  move(state) {
    this.state = state;
    this.#block = null;
  }

  end(metadata) {
    this.open = false;
    if (!isEmpty(metadata)) {
      this.metadata = ofProvider(metadata) ?? this.metadata;
      this.#block = null;
    }
  }

  rename(name) {
    this.name = name;
    this.#block = null;
  }

  /** Let a human's edit stand; what the edit leaves empty stays as it is. */
  takeOver(edited) {
    if (edited.name) this.rename(edited.name);
    this.#parse();
    if (!isEmpty(edited.input)) {
      if (edited.content && same(loadsObject(edited.content), edited.input)) this.replace(edited.content);
      else if (!same(this.#input, edited.input)) this.replace(dumps(edited.input));
    } else if (edited.content) {
      this.replace(edited.content);
    }
  }

  #parse() {
    if (!this.hasGrown) return;
    this.#content = this.read();
    // Half an object is the rule while it streams, and what a parser takes longest to refuse.
    const whole = /\}\s*$/.test(this.#content.slice(-64)) ? loadsObject(this.#content) : null;
    this.#input = whole === null ? EMPTY : freeze(whole);
    this.#block = null;
  }

  block() {
    this.#parse();
    this.#block ??= own({
      type: "tool_use",
      id: this.id,
      name: this.name,
      input: this.#input,
      content: this.#content,
      metadata: this.metadata,
      state: this.state,
    });
    return this.#block;
  }
}
