/** The question about a tool call: allow it, edit its arguments, or deny it. */

import { dumps, loads } from "../js/index.js";
import { h } from "./dom.js";

/** Make the element that asks; `answered` gets a `ConfirmResult` once. */
export function question(call, rules, answered) {
  const problem = h("p", { class: "problem", role: "alert", hidden: "" });
  const edit = h("textarea", { rows: "6", spellcheck: "false", "aria-label": "Arguments", hidden: "" });
  edit.value = argumentsOf(call);
  const always = h("input", { type: "checkbox" });

  const allow = h("button", { type: "submit" }, "Allow");
  const change = h("button", { type: "button", click: () => startEditing() }, "Edit");
  const deny = h("button", { type: "button", class: "deny", click: () => done(false, call) }, "Deny");
  const form = h(
    "form",
    { class: "question", "aria-label": `May ${call.name} run?`, submit: (event) => submit(event) },
    h("p", {}, `May ${call.name} run?`),
    edit,
    problem,
    ...(rules.length > 0 ? [h("label", {}, always, " Do not ask again for such calls")] : []),
    h("div", { class: "buttons" }, allow, change, deny),
  );

  function startEditing() {
    edit.hidden = false;
    change.hidden = true;
    edit.focus();
  }

  function submit(event) {
    event.preventDefault();
    if (edit.hidden || edit.value === argumentsOf(call)) return done(true, call);
    try {
      const input = loads(edit.value);
      if (typeof input !== "object" || input === null || Array.isArray(input)) throw new Error("no JSON object");
      return done(true, { ...call, input, content: edit.value });
    } catch (error) {
      problem.textContent = `The arguments are no JSON object: ${error.message}`;
      problem.hidden = false;
      return edit.focus();
    }
  }

  function done(confirmed, toolCall) {
    for (const control of form.elements) control.disabled = true;
    form.classList.add("answered");
    answered({ confirmed, toolCall, rules: confirmed && always.checked ? rules : null });
  }

  return form;
}

function argumentsOf(call) {
  if (Object.keys(call.input).length === 0) return call.content ?? "{}";
  try {
    return JSON.stringify(call.input, null, 2);
  } catch {
    return dumps(call.input); // an integer that JavaScript's numbers do not have
  }
}
