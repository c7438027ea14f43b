/** A conversation as elements. What has not changed is not touched: the blocks of a message say so themselves. */

import { dumps } from "../js/index.js";
import { fromTree, h, setChildren, setText } from "./dom.js";
import { readBlock, safeAddress, splitBlocks } from "./markdown.js";

const STATES = {
  pending: "preparing",
  asking: "asks",
  allowed: "allowed",
  submitted: "elsewhere",
  finished: "",
  running: "running",
  success: "done",
  error: "failed",
  interrupted: "interrupted",
  denied: "denied",
};

const REASONS = {
  INTERRUPTED: "Interrupted.",
  MAX_ITERATIONS: "Stopped: too many rounds.",
  ALL_TOOLS_DENIED: "Stopped: every call was denied.",
  MIDDLEWARE_STOP_REQUESTED: "Stopped on request.",
  REASONING_STOP_REQUESTED: "Stopped on request.",
  ACTING_STOP_REQUESTED: "Stopped on request.",
  TOOL_SUSPENDED: "Waits for an outcome from elsewhere.",
};

/** Shows a conversation in `node`; `ask(call, rules)` makes the element in which a human answers. */
export class ConversationView {
  #turns = new Map();
  #threads = new Map();
  #ask;

  constructor(ask) {
    this.node = h("div", { class: "conversation" });
    this.#ask = ask;
  }

  update(conversation) {
    const threads = new Map();
    for (const [path, thread] of conversation.threads) {
      const view = this.#threads.get(path) ?? new ThreadView(path);
      this.#threads.set(path, view);
      view.update(thread);
      threads.set(thread.anchor, [...(threads.get(thread.anchor) ?? []), view.node]);
    }
    const nodes = conversation.turns.map((turn, index) => {
      const key = `${index}/${turn.message.id}`;
      const view = this.#turns.get(key) ?? new MessageView(turn.message.role);
      this.#turns.set(key, view);
      view.update(turn, threads, (call) => this.#ask?.(call, conversation.rules.get(call.id) ?? []));
      return view.node;
    });
    setChildren(this.node, [...nodes, ...(threads.get(null) ?? [])]);
  }
}

/** A subagent's conversation, folded until one looks. */
class ThreadView {
  #inner = new ConversationView(null);
  #summary = h("summary");

  constructor(path) {
    this.path = path;
    this.node = h("details", { class: "thread" }, this.#summary, this.#inner.node);
  }

  update(thread) {
    setText(this.#summary, `${this.path}${thread.running ? " · working" : ""}`);
    this.#inner.update(thread);
  }
}

class MessageView {
  #blocks = [];
  #foot = h("div", { class: "foot" });

  constructor(role) {
    this.body = h("div", { class: "blocks" });
    this.node = h("article", { class: `message ${role.toLowerCase()}` }, this.body, this.#foot);
  }

  update({ message, complete, error }, threads, ask) {
    const cards = new Map();
    const nodes = [];
    message.content.forEach((block, index) => {
      if (block.type === "tool_result" && cards.has(block.id)) {
        cards.get(block.id).result(block);
        return;
      }
      const view = this.#blocks[index] ?? viewOf(block);
      this.#blocks[index] = view;
      view.update(block);
      if (view instanceof CallView) {
        cards.set(block.id, view);
        view.threads(threads.get(block.id) ?? []);
        view.answer(block.state === "asking" ? ask : null, block);
      }
      nodes.push(view.node);
    });
    setChildren(this.body, nodes);
    const said = error ? `${error.type}: ${error.message}` : (REASONS[message.generateReason] ?? "");
    const usage = complete && message.usage ? `${message.usage.totalTokens} tokens` : "";
    setText(this.#foot, [said, usage].filter(Boolean).join(" · "));
    this.#foot.classList.toggle("failed", error !== null);
    this.node.setAttribute("aria-busy", String(!complete));
  }
}

const VIEWS = {
  text: () => new MarkdownView(),
  thinking: () => new ThinkingView(),
  tool_use: () => new CallView(),
  tool_result: () => new ResultView(),
  hint: () => new HintView(),
};

function viewOf(block) {
  return (VIEWS[block.type] ?? (() => new MediaView()))();
}

/** A text, block by block: those whose source has not changed stay. */
class MarkdownView {
  #sources = [];
  node = h("div", { class: "markdown" });

  update({ text }) {
    const sources = splitBlocks(text);
    const nodes = sources.map((source, index) =>
      source === this.#sources[index] ? this.node.childNodes[index] : fromTree(readBlock(source)),
    );
    setChildren(this.node, nodes);
    this.#sources = sources;
  }
}

class ThinkingView {
  #text = h("div", { class: "text" });
  node = h("details", { class: "thinking" }, h("summary", {}, "Thinking"), this.#text);

  update({ thinking }) {
    this.node.hidden = !thinking;
    setText(this.#text, thinking);
  }
}

class HintView {
  node = h("p", { class: "hint" });

  update({ hint, source }) {
    setText(this.node, source ? `${source}: ${hint}` : hint);
  }
}

/** A tool call with its arguments, its result, the threads of its subagents, and the question about it. */
class CallView {
  #name = h("span", { class: "name" });
  #state = h("span", { class: "state" });
  #input = h("pre", { class: "input" });
  #threads = h("div");
  #result = null;
  #asked = null;
  #answer = h("div");
  #rest = h("div", { class: "rest" }, this.#input);
  node = h("section", { class: "call" }, h("header", {}, this.#name, this.#state), this.#rest);
  #block = null;

  constructor() {
    this.#rest.append(this.#answer, this.#threads);
  }

  update(block) {
    if (block === this.#block) return;
    this.#block = block;
    setText(this.#name, block.name || "…");
    this.#show(block.state);
    const whole = Object.keys(block.input).length > 0;
    setText(this.#input, whole ? indented(block.input) : (block.content ?? ""));
    this.#input.hidden = !this.#input.textContent;
  }

  #show(state) {
    setText(this.#state, STATES[state] ?? state);
    this.node.dataset.state = state;
  }

  result(block) {
    if (this.#result === null) {
      this.#result = new ResultView();
      this.#rest.append(this.#result.node);
    }
    this.#result.update(block);
    this.#show(block.state);
  }

  threads(nodes) {
    setChildren(this.#threads, nodes);
  }

  answer(ask, block) {
    if (ask === null) this.#asked = null;
    else this.#asked ??= ask(block) ?? null;
    setChildren(this.#answer, this.#asked === null ? [] : [this.#asked]);
  }
}

/** The arguments, indented; integers of any size stay what they are. */
function indented(input) {
  try {
    return JSON.stringify(input, null, 2);
  } catch {
    return dumps(input);
  }
}

class ResultView {
  #views = [];
  #block = null;
  node = h("div", { class: "result" });

  update(block) {
    if (block === this.#block) return;
    this.#block = block;
    const nodes = block.output.map((part, index) => {
      const view = this.#views[index] ?? (part.type === "text" ? new OutputView() : viewOf(part));
      this.#views[index] = view;
      view.update(part);
      return view.node;
    });
    setChildren(this.node, nodes);
  }
}

/** What a tool has written: data, and shown as that. */
class OutputView {
  node = h("pre");

  update({ text }) {
    setText(this.node, text);
  }
}

class MediaView {
  #block = null;
  node = h("figure", { class: "media" });

  update(block) {
    if (block === this.#block) return;
    this.#block = block;
    setChildren(this.node, [mediaOf(block)]);
  }
}

function mediaOf(block) {
  const source = block.source ?? {};
  const type = source.media_type ?? source.mime_type ?? (block.type === "data" ? "" : `${block.type}/*`);
  const inside = source.type === "base64";
  const address = inside
    ? `data:${/^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream"};base64,${source.data}`
    : safeAddress(source.url ?? "", ["http:", "https:"]);
  const name = block.name ?? (type || "data");
  if (address === null) return h("span", {}, name);
  const kind = type.split("/")[0];
  if (kind === "image") return h("img", { src: address, alt: name, referrerpolicy: "no-referrer", loading: "lazy" });
  if (kind === "audio" || kind === "video") return h(kind, { src: address, controls: "" });
  const how = inside ? { download: block.name ?? "data" } : { target: "_blank", rel: "noopener noreferrer" };
  return h("a", { href: address, ...how }, name);
}
