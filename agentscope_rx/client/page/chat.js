/** The chat: a conversation, a place to write, and a button to stop. */

import { Conversation } from "../js/index.js";
import { question } from "./answer.js";
import { h } from "./dom.js";
import { ConversationView } from "./view.js";

/**
 * Put a chat into an element.
 *
 * What it shows comes from a transport: `items()` yields what `connect` does; `send(text)` starts a call,
 * `confirm(replyId, results)` answers its questions, `stop()` interrupts it.
 */
export function chat(root, transport) {
  const conversation = new Conversation();
  const view = new ConversationView((call, rules) => question(call, rules, (answer) => answered(call, answer)));
  const status = h("p", { class: "status", role: "status" });
  const text = h("textarea", { rows: "2", placeholder: "Write a message", "aria-label": "Message", keydown: onKey });
  const send = h("button", { type: "submit" }, "Send");
  const stop = h("button", { type: "button", class: "stop", click: () => attempt(transport.stop()) }, "Stop");
  const form = h("form", { class: "composer", submit: onSubmit }, text, send, stop);
  const scroll = h("main", {}, view.node);
  root.replaceChildren(scroll, status, form);

  const answers = new Map();
  let drawn = null;

  function onKey(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) onSubmit(event);
  }

  function onSubmit(event) {
    event.preventDefault();
    const said = text.value.trim();
    if (!said || conversation.running) return;
    text.value = "";
    conversation.add({ role: "USER", content: [{ type: "text", text: said }] });
    draw();
    attempt(transport.send(said));
  }

  /** All questions of a reply are answered together. */
  function answered(call, answer) {
    answers.set(call.id, answer);
    const { replyId, calls } = conversation.question ?? { calls: [] };
    if (calls.length === 0 || !calls.every(({ id }) => answers.has(id))) return;
    const results = calls.map(({ id }) => answers.get(id));
    answers.clear();
    attempt(transport.confirm(replyId, results));
  }

  async function attempt(promise) {
    try {
      await promise;
      status.textContent = "";
    } catch (error) {
      status.textContent = String(error.message ?? error);
    }
  }

  function draw() {
    drawn ??= requestAnimationFrame(() => {
      drawn = null;
      const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
      view.update(conversation);
      stop.hidden = !conversation.running;
      send.hidden = conversation.running;
      if (atEnd) scroll.scrollTop = scroll.scrollHeight;
    });
  }

  draw();
  return attempt(
    (async () => {
      for await (const item of transport.items()) {
        conversation.take(item);
        if (item.kind === "gap") status.textContent = "Some of the reply was missed; it is asked for again.";
        if (item.kind === "error") status.textContent = item.error.message;
        draw();
      }
    })(),
  );
}
