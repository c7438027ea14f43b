// Folds and reads for the tests in Python: a line of JSON in, a line of JSON out.

import { createInterface } from "node:readline";

import {
  ReplyFold,
  SSEReader,
  bySource,
  dumps,
  loads,
  loadsEvent,
  snapshots,
  toMsg,
  toMsgs,
} from "../../../agentscope_rx/client/js/index.js";
import { joinBase64 } from "../../../agentscope_rx/client/js/fold/base64.js";
import { loadsObject } from "../../../agentscope_rx/client/js/json.js";
import { formatTimestamp } from "../../../agentscope_rx/client/js/time.js";
import { inputError } from "../../../agentscope_rx/client/js/wire.js";

const saved = (value) => loads(dumps(value));

async function list(source) {
  const items = [];
  try {
    for await (const item of source) items.push(item);
  } catch (error) {
    items.push(error.message);
  }
  return items;
}

function* failing(events, problem) {
  yield* events;
  if (problem) throw new Error(problem);
}

const ACTIONS = {
  /** Fold parts one after the other, with the state saved and restored between them. */
  fold({ parts, replyId = null, scope = "reply", seed = null }) {
    let fold = new ReplyFold({ replyId, scope, seed });
    for (const [index, part] of parts.entries()) {
      if (index > 0) fold = new ReplyFold({ seed: saved(fold.checkpoint()) });
      for (const event of part) fold.apply(event);
    }
    const message = fold.message();
    const calls = message.content.filter((block) => block.type === "tool_use");
    return {
      message,
      complete: fold.complete,
      empty: fold.empty,
      checkpoint: fold.checkpoint(),
      inputErrors: calls.filter(inputError).map((call) => call.id),
    };
  },

  /** Fold the two parts of every cut, with an overlap; return the cuts that make something else. */
  cuts({ events, overlaps, ...options }) {
    const whole = dumps(ACTIONS.fold({ parts: [events], ...options }).message);
    const wrong = [];
    for (let cut = 0; cut <= events.length; cut++) {
      for (const overlap of overlaps) {
        const parts = [events.slice(0, cut), events.slice(Math.max(0, cut - overlap))];
        if (dumps(ACTIONS.fold({ parts, ...options }).message) !== whole) wrong.push([cut, overlap]);
      }
    }
    return wrong;
  },

  /** The message after every event, read at once and again at the end; and the fold of every prefix. */
  async prefixes({ events, replyId }) {
    const kept = await list(snapshots(events, { replyId }));
    const early = [];
    for await (const message of snapshots(events, { replyId })) early.push(saved(message));
    const folds = await Promise.all(events.map((_, index) => toMsg(events.slice(0, index + 1), { replyId })));
    return { kept, early, folds };
  },

  toMsgs: ({ events, fail, ...options }) => list(toMsgs(failing(events, fail), options)),
  toMsg: ({ events, fail, ...options }) => toMsg(failing(events, fail), options),
  source: ({ events, source, replyId }) => toMsg(bySource(source, events), { replyId }),

  /** Read chunks of bytes as server-sent events, and those as events. */
  sse({ chunks }) {
    const reader = new SSEReader();
    const frames = chunks.flatMap((chunk) => reader.feed(Buffer.from(chunk, "base64")));
    return { frames, lastEventId: reader.lastEventId, retry: reader.retry };
  },

  events: ({ texts }) =>
    texts.map((text) => {
      try {
        return loadsEvent(text);
      } catch (error) {
        return { refused: error.message };
      }
    }),

  base64: ({ texts }) => texts.map(joinBase64),
  times: ({ texts }) => texts.map(formatTimestamp),
  objects: ({ texts }) => texts.map(loadsObject),
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { do: action, ...options } = loads(line);
  let answer;
  try {
    answer = { value: (await ACTIONS[action](options)) ?? null };
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${dumps(answer)}\n`);
}
