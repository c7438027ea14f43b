// Conversations as a page shows them, and the recorded one that comes with it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Conversation, ReplyFold, textContent } from "../../../agentscope_rx/client/js/index.js";
import { Recorded } from "../../../agentscope_rx/client/page/recorded.js";

const RECORDED = readFileSync(new URL("../../../agentscope_rx/client/page/recorded.jsonl", import.meta.url), "utf-8");
const EVENTS = RECORDED.split("\n").filter(Boolean).map((line) => JSON.parse(line));

function* replies(...ids) {
  for (const replyId of ids) {
    yield { type: "AGENT_START", replyId, name: "Ann" };
    yield { type: "TEXT_BLOCK_START", replyId, blockId: "t" };
    yield { type: "TEXT_BLOCK_DELTA", replyId, blockId: "t", delta: `I am ${replyId}.` };
  }
}

const texts = (conversation) => conversation.turns.map(({ message }) => textContent(message));

test("turns are what was said, in order, and stay the same until they change", () => {
  const conversation = new Conversation();
  conversation.add({ role: "USER", content: [{ type: "text", text: "Who?" }] });
  for (const event of replies("r1", "r2")) conversation.apply(event);
  const before = conversation.turns;
  conversation.apply({ type: "AGENT_END", replyId: "r2", error: { type: "ModelError", message: "broken" } });
  const after = conversation.turns;

  assert.deepEqual(texts(conversation), ["Who?", "I am r1.", "I am r2."]);
  assert.equal(after[0], before[0]);
  assert.equal(after[1], before[1]);
  assert.notEqual(after[2], before[2]);
  assert.equal(after[2].error.message, "broken");
  assert.equal(conversation.running, false);
});

test("a snapshot takes the place of its reply", () => {
  const fold = new ReplyFold();
  for (const event of replies("r1")) fold.apply(event);
  const conversation = new Conversation();
  conversation.apply({ type: "AGENT_START", replyId: "r1" });
  conversation.take({ kind: "snapshot", checkpoint: fold.checkpoint(), cursor: "3" });
  conversation.take({ kind: "event", event: { type: "TEXT_BLOCK_DELTA", replyId: "r1", blockId: "t", delta: " Still." } });

  assert.deepEqual(texts(conversation), ["I am r1. Still."]);
});

test("subagents have threads, nested as their paths are, each at a call that had no result", () => {
  const conversation = new Conversation();
  conversation.apply({ type: "AGENT_START", replyId: "r" });
  for (const id of ["c1", "c2", "c3"]) conversation.apply({ type: "TOOL_CALL_START", replyId: "r", toolCallId: id });
  conversation.apply({ type: "TOOL_RESULT_START", replyId: "r", toolCallId: "c1" });
  conversation.apply({ type: "TOOL_RESULT_END", replyId: "r", toolCallId: "c1" });
  for (const source of ["main/a", "main/b", "main/a/x"]) {
    for (const event of replies("r")) conversation.apply({ ...event, source });
  }

  assert.deepEqual([...conversation.threads.keys()], ["main/a", "main/b"]);
  assert.deepEqual([...conversation.threads.values()].map(({ anchor }) => anchor), ["c2", "c3"]);
  assert.deepEqual(texts(conversation.threads.get("main/a").threads.get("main/a/x")), ["I am r."]);
  assert.equal(conversation.turns.length, 1);
  assert.equal(textContent(conversation.turns[0].message), "");
});

test("a question is there until it is answered, with the rules that it suggests", () => {
  const conversation = new Conversation();
  for (const event of EVENTS.slice(0, 1 + EVENTS.findIndex(({ type }) => type === "REQUIRE_USER_CONFIRM"))) {
    conversation.apply(event);
  }
  const { replyId, calls } = conversation.question;

  assert.deepEqual([replyId, calls[0].id, conversation.rules.get("c3").length], ["reply-1", "c3", 1]);
  conversation.apply({ type: "USER_CONFIRM_RESULT", replyId, confirmResults: [{ confirmed: true, toolCall: calls[0] }] });
  assert.equal(conversation.question, null);
});

test("what was recorded plays, asks, goes on, and plays again", async () => {
  const recorded = new Recorded(RECORDED, 0);
  const conversation = new Conversation();
  let rounds = 2;
  await recorded.send();
  for await (const item of recorded.items()) {
    conversation.take(item);
    const { question } = conversation;
    if (question) await recorded.confirm(question.replyId, [{ confirmed: true, toolCall: question.calls[0] }]);
    if (item.event.type === "AGENT_END" && !item.event.source) {
      if (--rounds === 0) break;
      await recorded.send();
    }
  }

  assert.equal(conversation.turns.length, 2);
  for (const { message, complete } of conversation.turns) {
    assert.ok(complete);
    assert.match(textContent(message), /Done: the report/);
    assert.ok(message.content.every((block) => block.type !== "tool_use" || block.state === "finished"));
  }
});

test("what was recorded stops", async () => {
  const recorded = new Recorded(RECORDED, 0);
  const conversation = new Conversation();
  await recorded.send();
  let taken = 0;
  for await (const item of recorded.items()) {
    conversation.take(item);
    if (++taken === 10) await recorded.stop();
    if (item.event.type === "AGENT_END") break;
  }

  assert.equal(conversation.turns[0].message.generateReason, "INTERRUPTED");
  assert.equal(taken, 11);
});
