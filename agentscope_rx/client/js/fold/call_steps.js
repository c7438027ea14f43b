/** Tool calls with their results, questions and answers: a group each (R8–R12, R16, R20). */

function openResult(state, event) {
  const result = state.calls.get(event.toolCallId)?.result;
  return result?.open ? result : undefined;
}

function letWait(state, calls, why, reason) {
  const groups = calls.map((call) => state.calls.get(call.id)).filter((group) => group !== undefined);
  const asked = groups.map((group) => group.ask(why)).filter((call) => call !== null);
  for (const call of asked) state.asked.add(call);
  if (asked.length > 0) state.reasons.ask(reason);
}

export const CALL_STEPS = {
  TOOL_CALL_START: (state, event) => state.group(event.toolCallId).start(event.toolCallName, state.modelCall),
  TOOL_CALL_DELTA: (state, event) => state.calls.get(event.toolCallId)?.fragments?.add(event.delta),
  TOOL_CALL_END: (state, event) => {
    const group = state.calls.get(event.toolCallId);
    if (group === undefined) return;
    group.end(event.metadata, state.modelCall);
    state.ending.push(group);
  },

  TOOL_RESULT_START: (state, event) => state.group(event.toolCallId).startResult(event.toolCallName),
  TOOL_RESULT_TEXT_DELTA: (state, event) => openResult(state, event)?.addText(event.delta),
  TOOL_RESULT_DATA_DELTA: (state, event) => openResult(state, event)?.addData(event),
  TOOL_RESULT_END: (state, event) =>
    state.calls.get(event.toolCallId)?.endResult(event.toolCallName, event.state, event.metadata),

  REQUIRE_USER_CONFIRM: (state, event) => letWait(state, event.toolCalls, "asking", "PERMISSION_ASKING"),
  REQUIRE_EXTERNAL_EXECUTION: (state, event) => letWait(state, event.toolCalls, "submitted", "TOOL_SUSPENDED"),
  USER_CONFIRM_RESULT: (state, event) => {
    for (const result of event.confirmResults) {
      if (result.toolCall !== null) state.calls.get(result.toolCall.id)?.answer(result);
    }
    state.reasons.answer("PERMISSION_ASKING");
  },
  EXTERNAL_EXECUTION_RESULT: (state, event) => {
    for (const outcome of event.toolResults) state.group(outcome.id).takeOutcome(outcome);
    state.reasons.answer("TOOL_SUSPENDED");
  },
};
