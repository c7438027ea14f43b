/** What is said about the message as a whole: its frame, usage, why it ended (R17–R20). */

import { own } from "../json.js";
import { STRUCTURED_OUTPUT, addUsage } from "../wire.js";

export const MESSAGE_STEPS = {
  AGENT_START: (state, event) => {
    if (!state.started) {
      state.started = true;
      if (state.messageId === null) state.createdAt = event.createdAt; // a message that goes on keeps its time
    }
    state.name ??= event.name;
  },
  AGENT_END: (state, event) => {
    state.settled = true;
    state.reasons.end(event.generateReason, event.error !== null);
    if (Object.hasOwn(event.metadata, STRUCTURED_OUTPUT)) {
      state.metadata = own({ ...state.metadata, [STRUCTURED_OUTPUT]: event.metadata[STRUCTURED_OUTPUT] });
    }
  },
  AGENT_RESULT: (state, event) => {
    if (event.result?.generateReason) state.reasons.stop(event.result.generateReason);
  },

  MODEL_CALL_START: (state) => {
    state.modelCall += 1;
    for (const group of state.ending) group.endModelCall();
    state.ending = [];
  },
  MODEL_CALL_END: (state, event) => {
    if (event.usage !== null) state.usage = state.usage === null ? event.usage : addUsage(state.usage, event.usage);
  },

  EXCEED_MAX_ITERS: (state) => state.reasons.stop("MAX_ITERATIONS"),
  REQUEST_STOP: (state, event) => state.reasons.stop(event.generateReason),
};
