/** Text, thinking and data blocks, and hints: a group each (R5–R7, R13, R15, R20). */

import { own } from "../json.js";
import { DataDraft, TextDraft, WholeDraft } from "./drafts.js";

function start(state, open, blockId, make) {
  const known = open.get(blockId);
  if (known !== undefined && goesOn(known, state.modelCall)) return;
  const draft = make();
  open.set(blockId, draft);
  state.blocks.push(draft);
}

/** Whether a Start is a repetition; one of a later model call closes what had no End. */
function goesOn(known, modelCall) {
  known.final = known.modelCall !== modelCall;
  return !known.final;
}

function end(open, event) {
  open.get(event.blockId)?.end(event.metadata);
  open.delete(event.blockId);
}

export const BLOCK_STEPS = {
  TEXT_BLOCK_START: (state, event) =>
    start(state, state.text, event.blockId, () => new TextDraft("text", state.modelCall)),
  TEXT_BLOCK_DELTA: (state, event) => state.text.get(event.blockId)?.add(event.delta),
  TEXT_BLOCK_END: (state, event) => end(state.text, event),

  THINKING_BLOCK_START: (state, event) =>
    start(state, state.thinking, event.blockId, () => new TextDraft("thinking", state.modelCall)),
  THINKING_BLOCK_DELTA: (state, event) => state.thinking.get(event.blockId)?.add(event.delta),
  THINKING_BLOCK_END: (state, event) => end(state.thinking, event),

  DATA_BLOCK_START: (state, event) =>
    start(state, state.data, event.blockId, () => {
      const id = event.blockId || `data-${state.blocks.length + 1}`;
      return new DataDraft(id, event.mediaType, state.modelCall);
    }),
  DATA_BLOCK_DELTA: (state, event) => state.data.get(event.blockId)?.take(event.data, event.url, event.mediaType),
  DATA_BLOCK_END: (state, event) => end(state.data, event),

  HINT_BLOCK: (state, event) => {
    const block = own({ type: "hint", id: event.blockId, hint: event.hint, source: event.hintSource });
    state.blocks.push(new WholeDraft(block));
  },
};
