/** A tool's result while it streams (R9, R10, R12). */

import { EMPTY, own } from "../json.js";
import { withoutNulls } from "../wire.js";
import { DataDraft, TextDraft, WholeDraft } from "./drafts.js";

/**
 * What comes of a call: text, data and whole blocks, in order.
 *
 * `call`: the call; null if it was not streamed here. `open`: more may come; also after an End that says
 * `running`, which suspends the result. `text`: the text at the end of the output; null if it does not end
 * with text. `data`: the base64 blocks of the output by their `blockId`.
 */
export class ResultDraft {
  #block;

  constructor(id, name, call) {
    this.id = id;
    this.name = name;
    this.call = call;
    this.#begin();
  }

  #begin() {
    this.open = true;
    this.state = null;
    this.metadata = EMPTY;
    this.parts = [];
    this.text = null;
    this.data = new Map();
    this.#block = null;
  }

  /** Make the draft of a result that was streamed before; one that still runs may go on. */
  static of(block, call) {
    const draft = new ResultDraft(block.id, block.name, call);
    draft.parts = block.output.map((part) => new WholeDraft(part));
    draft.end(block.state, block.metadata);
    const last = block.output.at(-1);
    if (draft.open && last?.type === "text") {
      draft.text = new TextDraft("text", 0);
      draft.text.add(last.text);
      draft.text.metadata = last.metadata ?? null;
      draft.parts[draft.parts.length - 1] = draft.text;
    }
    return draft;
  }

  get final() {
    return !this.open;
  }

  /** Whether an End has said that the result comes later. */
  get suspended() {
    return this.state === "running";
  }

  /** Begin the output afresh, in its place. */
  restart(name) {
    this.name = name || this.name;
    this.#begin();
  }

  addText(delta) {
    if (this.text === null && delta) {
      this.text = new TextDraft("text", 0);
      this.parts.push(this.text);
    }
    this.text?.add(delta);
  }

  addData(event) {
    const known = this.data.get(event.blockId);
    if (event.block !== null) {
      this.#add(new WholeDraft(event.block));
    } else if (event.url !== null) {
      const draft = new DataDraft(this.#dataId(event.blockId), event.mediaType, 0);
      draft.url = event.url;
      this.#add(new WholeDraft(draft.block()));
    } else if (known !== undefined) {
      known.take(event.data, null, event.mediaType);
    } else if (event.data) {
      const draft = new DataDraft(this.#dataId(event.blockId), event.mediaType, 0);
      draft.add(event.data);
      this.#add(draft);
      if (event.blockId) this.data.set(event.blockId, draft);
    }
  }

  #add(part) {
    this.parts.push(part);
    this.text = null;
  }

  #dataId(blockId) {
    return blockId || `${this.id}-data-${this.parts.length + 1}`;
  }

  end(state, metadata) {
    this.state = state;
    this.metadata = metadata;
    if (!this.suspended) {
      this.open = false;
      this.text = null;
    }
  }

  /** Take an outcome from outside as it is; one that does not say how it ended has succeeded. */
  become(outcome) {
    this.restart(outcome.name);
    this.parts = outcome.output.map((part) => new WholeDraft(part));
    this.end(outcome.state === "running" ? "success" : outcome.state, outcome.metadata);
  }

  block() {
    if (this.#block !== null) return this.#block;
    const block = own({
      type: "tool_result",
      id: this.id,
      name: this.name || this.call?.name || "",
      output: own(this.parts.map((part) => part.block())),
      metadata: withoutNulls(this.metadata),
      state: this.state ?? "running",
    });
    if (!this.open) this.#block = block;
    return block;
  }
}
