// Checked by the compiler, never run: what a user in TypeScript may write, and what not.

import {
  type AgentEvent,
  type Msg,
  ReplyFold,
  SSEReader,
  Conversation,
  bySource,
  connect,
  follow,
  loads,
  readEvent,
  snapshots,
  structuredOutput,
  textContent,
  toMsg,
  toMsgs,
} from "../../../agentscope_rx/client/js/index.js";

declare const events: AsyncIterable<AgentEvent>;

const fold = new ReplyFold({ replyId: "r", scope: "call" });
const taken: boolean = fold.apply({ type: "AGENT_END", replyId: "r" });
const message: Msg = fold.message();
const again = new ReplyFold({ seed: fold.checkpoint() });
const paused = new ReplyFold({ seed: message });
// @ts-expect-error a message does not change
message.name = "other";
// @ts-expect-error there is no such scope
new ReplyFold({ scope: "session" });

function shown(event: AgentEvent): string {
  switch (event.type) {
    case "TEXT_BLOCK_DELTA":
      return event.blockId + event.delta;
    case "TOOL_RESULT_END":
      return event.toolCallId + event.state;
    case "AGENT_END":
      return event.error?.message ?? event.generateReason ?? "";
    // @ts-expect-error there is no such event
    case "TEXT_DELTA":
      return "";
    default:
      // @ts-expect-error not every event has one
      return event.delta;
  }
}

for (const block of message.content) {
  if (block.type === "tool_use") console.log(block.input["city"], block.state);
  else if (block.type === "data" && block.source.type === "base64") console.log(block.source.media_type);
}

const frames = new SSEReader({ lastEventId: "7" }).feed(new Uint8Array());
for (const frame of frames) console.log(shown(readEvent(loads(frame.data))), frame.id);

for await (const item of connect("/events", { cursor: "7", onState: (state) => console.log(state) })) {
  if (item.kind === "event") console.log(shown(item.event));
  else if (item.kind === "snapshot") new ReplyFold({ seed: item.checkpoint });
  // @ts-expect-error only an event has one
  else console.log(item.event);
}
for await (const { message, gap, cursor } of follow("/events", { replyId: "r" })) console.log(message, gap, cursor);

const conversation = new Conversation();
for await (const item of connect("/events")) conversation.take(item);
for (const { message, error } of conversation.turns) console.log(textContent(message), error?.message);
console.log(conversation.threads.get("main/helper")?.anchor, conversation.question?.calls.length);

const one: Msg | null = await toMsg(bySource("main/helper", events));
for await (const each of toMsgs([], { remember: 3 })) console.log(textContent(each), structuredOutput(each));
for await (const each of snapshots(events)) console.log(each?.usage?.totalTokens);
console.log(taken, again, paused, one);
