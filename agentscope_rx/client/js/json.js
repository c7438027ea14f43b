/**
 * Strict JSON, and values that do not change.
 *
 * Strict means what `agentscope_rx._json` means: one value and no text behind it, no number beyond a double's
 * range, the last of repeated keys counts, integers of any size stay integers: those that a JavaScript number
 * does not have exactly are a BigInt.
 */

import { WireError } from "./errors.js";

export const EMPTY = Object.freeze({});
export const NONE = Object.freeze([]);

const TOO_DEEP = 200;
const DEEPEST = 190; // of a tool call's arguments: a message and an event come around them

/** Whether a value is a JSON object. */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an object has no members. */
export function isEmpty(object) {
  for (const key in object) if (Object.hasOwn(object, key)) return false;
  return true;
}

const LONG = /[0-9]{16}/;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][-+.0-9eE]*/g;

/** Parse one JSON value. Errors: `SyntaxError`. */
export function loads(text) {
  const value = JSON.parse(text);
  if (!LONG.test(text)) return value;
  const mark = newMark();
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_, item) =>
    typeof item === "string" && item.startsWith(mark) ? BigInt(item.slice(mark.length)) : item,
  );
}

/** Write a JSON value. `JSON.stringify` does the same, but throws where there is a BigInt. */
export function dumps(value) {
  const mark = newMark();
  const marked = JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${mark}${item}` : item));
  return marked.replaceAll(new RegExp(`"${mark}(-?[0-9]+)"`, "g"), "$1");
}

function isLong(token) {
  return /^-?[0-9]+$/.test(token) && !Number.isSafeInteger(Number(token));
}

/** A text that no other text begins with. */
function newMark() {
  return `${Math.random()}/${Math.random()}/`;
}

/** Parse a JSON object; null if the text is anything else, or so deep that it could not be passed on. */
export function loadsObject(text) {
  let value;
  try {
    value = loads(text);
  } catch {
    return null;
  }
  return isObject(value) && isSound(value) ? value : null;
}

/** Whether a parsed value is not too deep and has only numbers that JSON can write; without recursion. */
function isSound(value) {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= DEEPEST) return false;
    const next = [];
    for (const container of level) {
      for (const member of Object.values(container)) {
        if (typeof member === "object" && member !== null) next.push(member);
        else if (typeof member === "number" && !Number.isFinite(member)) return false;
      }
    }
    level = next;
  }
  return true;
}

/** Copy a JSON value into one that does not change; one of ours stays itself. */
export function freeze(value, depth = 0) {
  if (typeof value === "number" && !Number.isFinite(value)) throw new WireError(`${value} is no JSON number`);
  if (typeof value !== "object" || value === null) return value;
  if (OURS.has(value)) return value;
  if (depth >= TOO_DEEP) throw new WireError(`nested deeper than ${TOO_DEEP}`);
  const copy = Array.isArray(value)
    ? value.map((item) => freeze(item, depth + 1))
    : // Not by assignment: a key may be called `__proto__`.
      Object.fromEntries(Object.entries(value).map(([key, item]) => [key, freeze(item, depth + 1)]));
  return own(copy);
}

/** Freeze a value whose members are frozen already. */
export function own(value) {
  OURS.add(Object.freeze(value));
  return value;
}

const OURS = new WeakSet([EMPTY, NONE]);

/** Compare JSON values: the order of keys says nothing. */
export function same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}
