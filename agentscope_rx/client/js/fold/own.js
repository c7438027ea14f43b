/** Which events are a reply's own (R2–R4, R19). */

import { Reasons } from "./reasons.js";

const RESTARTS = new Set(["AGENT_START", "USER_CONFIRM_RESULT", "EXTERNAL_EXECUTION_RESULT"]);

/**
 * Note who speaks; return whether the event is the reply's own, new, and in time.
 *
 * 1. An event with a source is a subagent's.
 * 2. An event belongs to the reply that it names; one that names none, to that of the event before it.
 * 3. A copy of an event has no effect; an event without an id is no copy. An event that names no reply keeps
 *    its id also where it is another's: a copy may come when this reply speaks.
 * 4. After its end a reply takes no event but those that start it again.
 */
export function takes(state, event) {
  if (event.source) return false;
  const belongs = state.scope === "call" ? belongsToCall : belongsToReply;
  if (!belongs(state, event)) {
    state.ours = false;
    if (!event.replyId) state.ids.add(event.id);
    return false;
  }
  state.ours = true;
  if (!state.ids.add(event.id)) return false;
  if (state.settled) {
    if (!RESTARTS.has(event.type)) return false;
    state.settled = false;
    state.reasons = new Reasons();
  }
  state.createdAt ??= event.createdAt;
  return true;
}

function belongsToReply(state, event) {
  if (!event.replyId) return state.ours;
  if (state.replyId === null) state.begin(event.replyId);
  return event.replyId === state.replyId;
}

function belongsToCall(state, event) {
  if (event.type !== "AGENT_START") return state.ours;
  if (state.replyId === null) state.begin(event.replyId);
  else if (state.ours && !state.started) state.replyId = event.replyId; // the call that goes on from a seed
  return event.replyId === state.replyId;
}
