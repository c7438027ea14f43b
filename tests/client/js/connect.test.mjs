// The connection, against a server whose every answer the test writes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";

import {
  ConfigurationError,
  RefusedError,
  ReplyFold,
  connect,
  follow,
  textContent,
} from "../../../agentscope_rx/client/js/index.js";

let server, url;
let script = [];
let requests = [];

before(async () => {
  server = createServer(async (request, response) => {
    requests.push({ method: request.method, ...request.headers });
    const answer = script.shift() ?? { status: 204 };
    response.writeHead(answer.status ?? 200, { "content-type": "text/event-stream", ...answer.headers });
    for (const chunk of answer.chunks ?? []) {
      response.write(chunk);
      await new Promise((resolve) => setTimeout(resolve, 2)); // chunks of their own
    }
    if (answer.hang) return;
    if (answer.kill) request.socket.destroy();
    else response.end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${server.address().port}/events`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

function answers(...given) {
  script = given;
  requests = [];
}

const QUICK = { delay: 1, longest: 5 };
const END = "event: end\ndata: {}\n\n";

function frame(cursor, event) {
  return `id: ${cursor}\ndata: ${JSON.stringify({ replyId: "r", ...event })}\n\n`;
}

const START = frame(1, { type: "AGENT_START", id: "e1", name: "Ann", createdAt: "2026-01-01T00:00:00Z" });
const OPEN = frame(2, { type: "TEXT_BLOCK_START", id: "e2", blockId: "t" });
const text = (cursor, delta) => frame(cursor, { type: "TEXT_BLOCK_DELTA", id: `e${cursor}`, blockId: "t", delta });

async function all(source) {
  const items = [];
  for await (const item of source) items.push(item);
  return items;
}

const cursors = () => requests.map((request) => request["last-event-id"]);

test("a stream is read to its end", async () => {
  answers({ chunks: [": hi\n\n", START, OPEN, text(3, "hé"), END] });
  const items = await all(follow(url, QUICK));

  assert.equal(textContent(items.at(-1).message), "hé");
  assert.deepEqual(items.map((item) => item.cursor), ["1", "2", "3"]);
  assert.deepEqual(cursors(), [undefined]);
});

for (const [how, broken] of [["is killed", { kill: true }], ["ends early", {}], ["is cut in a frame", { half: true }]]) {
  test(`a connection that ${how} is gone on with from its cursor, and doubles are dropped`, async () => {
    const rest = broken.half ? ['id: 4\ndata: {"type": "TEXT_BL'] : [];
    answers(
      { chunks: [START, OPEN, text(3, "a"), ...rest], ...broken },
      { status: 503 },
      { chunks: [OPEN, text(3, "a"), text(4, "b"), END] },
    );
    const items = await all(connect(url, QUICK));

    assert.deepEqual(items.map((item) => item.event.id), ["e1", "e2", "e3", "e4"]);
    assert.deepEqual(cursors(), [undefined, "3", "3"]);
  });
}

test("silence ends a connection, comments do not", async () => {
  answers({ chunks: [START, ...Array(30).fill(": still here\n\n"), OPEN], hang: true }, { chunks: [text(3, "a"), END] });
  const items = await all(connect(url, { ...QUICK, idle: 40 }));

  assert.deepEqual(items.map((item) => item.event.id), ["e1", "e2", "e3"]);
  assert.deepEqual(cursors(), [undefined, "2"]);
});

test("a gap is told, and the snapshot takes the place of what was folded", async () => {
  const fold = new ReplyFold();
  for (const event of [START, OPEN, text(3, "a"), text(4, "b")]) fold.apply(JSON.parse(event.split("data: ")[1]));
  const snapshot = `id: 4\nevent: snapshot\ndata: ${JSON.stringify(fold.checkpoint())}\n\n`;
  answers(
    { chunks: [START, OPEN, text(3, "a")] },
    { chunks: ['event: gap\ndata: {"oldest": "9"}\n\n', snapshot, text(4, "b"), text(5, "c"), END] },
  );
  const items = await all(follow(url, QUICK));

  assert.deepEqual(items.map((item) => item.gap), [false, false, false, true, false, false, false]);
  assert.equal(textContent(items.at(-1).message), "abc");
});

test("a cursor that the server refuses is a gap, and the stream begins anew", async () => {
  answers({ chunks: [START] }, { status: 410 }, { chunks: [START, OPEN, text(3, "a"), END] });
  const items = await all(connect(url, QUICK));

  assert.deepEqual(items.map((item) => item.kind), ["event", "gap", "event", "event"]);
  assert.deepEqual(cursors(), [undefined, "1", undefined]);
});

for (const status of [401, 403, 404]) {
  test(`${status} is an error`, async () => {
    answers({ status, body: "no" });
    await assert.rejects(all(connect(url, QUICK)), (error) => {
      return error instanceof RefusedError && error.status === status && error.body === "no";
    });
    assert.equal(requests.length, 1);
  });
}

test("what is no event stream is an error", async () => {
  answers({ headers: { "content-type": "text/html" }, body: "<p>log in" });
  await assert.rejects(all(connect(url, QUICK)), RefusedError);
});

test("a failure is told", async () => {
  answers({ chunks: [START, 'event: error\ndata: {"type": "ModelError", "message": "broken"}\n\n', END] });
  const items = await all(follow(url, QUICK));

  assert.deepEqual(items.at(-1).error, { type: "ModelError", message: "broken" });
});

test("a bad frame is told, and the cursor stays before it", async () => {
  const bad = [];
  answers({ chunks: [START, "id: 2\ndata: {oops\n\n"] }, { chunks: [OPEN, END] });
  const items = await all(connect(url, { ...QUICK, onBadFrame: (frame) => bad.push(frame.data) }));

  assert.deepEqual(bad, ["{oops"]);
  assert.deepEqual(cursors(), [undefined, "1"]);
  assert.deepEqual(items.map((item) => item.event.id), ["e1", "e2"]);
});

test("an answer that is open already is read first", async () => {
  answers({ chunks: [START] }, { chunks: [OPEN, END] });
  const response = await fetch(url, { method: "POST" });
  const items = await all(connect(url, { ...QUICK, response, headers: { authorization: "Bearer x" } }));

  assert.deepEqual(items.map((item) => item.event.id), ["e1", "e2"]);
  assert.deepEqual(requests.map((request) => [request.method, request.authorization]), [
    ["POST", undefined],
    ["GET", "Bearer x"],
  ]);
});

for (const moment of ["open", "waiting"]) {
  test(`the signal ends a stream that is ${moment}`, async () => {
    const controller = new AbortController();
    const states = [];
    const onState = (state) => {
      states.push(state);
      if (state === moment) setTimeout(() => controller.abort(), 10);
    };
    answers(moment === "open" ? { chunks: [START], hang: true } : { status: 503, headers: { "retry-after": "60" } });
    await all(connect(url, { signal: controller.signal, onState }));

    assert.equal(states.at(-1), "closed");
    assert.equal(requests.length, 1);
  });
}

test("who leaves the loop leaves the connection, and goes on later from its cursor", async () => {
  answers({ chunks: [START + OPEN + text(3, "a")], hang: true }, { chunks: [OPEN, text(3, "a"), END] });
  const connection = connect(url, QUICK);
  for await (const item of connection) if (item.event.id === "e1") break;

  assert.equal(connection.cursor, "1");
  assert.equal(connection.state, "closed");
  const items = await all(connect(url, { ...QUICK, cursor: connection.cursor }));
  assert.deepEqual(items.map((item) => item.event.id), ["e2", "e3"]);
});

test("a reload goes on from a checkpoint and its cursor", async () => {
  answers({ chunks: [START + OPEN + text(3, "a")], kill: true }, { chunks: [text(3, "a"), text(4, "b"), END] });
  let kept;
  for await (const item of follow(url, QUICK)) {
    kept = JSON.stringify({ seed: item.fold.checkpoint(), cursor: item.cursor });
    if (item.cursor === "3") break;
  }
  const items = await all(follow(url, { ...QUICK, ...JSON.parse(kept) }));

  assert.equal(textContent(items.at(-1).message), "ab");
  assert.equal(requests.at(-1)["last-event-id"], "3");
});

test("the server says how long to wait, and waits grow", async () => {
  answers({ chunks: ["retry: 1\n\n", START] }, { status: 500 }, { status: 500 }, { chunks: [END] });
  const began = performance.now();
  await all(connect(url, { delay: 60_000, longest: 60_000 }));

  assert.ok(performance.now() - began < 5_000);
  assert.equal(requests.length, 4);
});

test("a mistake of whoever reads is theirs, and not a break", async () => {
  answers({ chunks: [START, OPEN, END] });
  const reading = (async () => {
    for await (const _ of connect(url, QUICK)) throw new TypeError("mine");
  })();

  await assert.rejects(reading, /mine/);
  assert.equal(requests.length, 1);
});

test("a callback that throws is theirs, too", async () => {
  answers({ chunks: [START, "data: {oops\n\n", END] });
  const onBadFrame = () => undefined.mine;

  await assert.rejects(all(connect(url, { ...QUICK, onBadFrame })), TypeError);
  assert.equal(requests.length, 1);
});

test("wrong arguments are refused", () => {
  assert.throws(() => connect(url, { idle: 0 }), ConfigurationError);
});

const FOLDER = new URL("../../cases/events/", import.meta.url);
for (const name of ["S01-own-stream-any-cut", "S02-last-event-id", "S04-two-objects-in-one-frame", "S05-reconnect-overlap", "S06-reconnect-cursor-expired"]) {
  test(`the handed case ${name}`, async () => {
    const { encoding, chunks, reconnects = [], expected } = JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER)));
    const bytes = (parts) => parts.map((part) => Buffer.from(part, encoding === "latin-1" ? "latin1" : encoding));
    const later = reconnects.map((again) => (again.chunks ? { chunks: bytes(again.chunks) } : { status: 410 }));
    answers({ chunks: bytes(chunks) }, ...later);
    const bad = [];
    const connection = connect(url, { ...QUICK, onBadFrame: (frame) => bad.push(frame) });
    const fold = new ReplyFold({ replyId: expected.replyId });
    const items = [];
    let last = "";
    for await (const item of connection) {
      items.push(item);
      last = connection.cursor;
      if (item.kind === "event") fold.apply(item.event);
    }

    const ids = items.filter((item) => item.kind === "event").map((item) => item.event.id);
    if (expected.eventIds) assert.deepEqual(ids, expected.eventIds);
    assert.equal(items.some((item) => item.kind === "gap"), expected.gap ?? false);
    assert.equal(bad.length, expected.badFrames ?? 0);
    assert.deepEqual(cursors().slice(1, 1 + reconnects.length), reconnects.map((again) => again.expectLastEventId));
    assert.equal(expected.gap ? last : cursors().at(-1), expected.lastEventId);
    if (expected.content) assert.equal(textContent(fold.message()), expected.content.map((block) => block.text).join("\n"));
  });
}
