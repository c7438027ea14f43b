/**
 * Markdown, as models write it, to a tree of elements: `{tag, attributes, children}`, children being trees and
 * texts. Pure, safe and quick: HTML is text, addresses are only those of the web and of mail, images are links,
 * and a text that is cut anywhere, as while it streams, is read as far as it goes.
 */

const FENCE = /^ {0,3}(```+|~~~+)[ \t]*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/;
const RULE = /^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const DELIMITERS = /^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?[ \t]*)?$/;

/** Cut a text into the sources of its blocks: what has not changed need not be read again. */
export function splitBlocks(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const sources = [];
  for (let at = 0; at < lines.length; ) {
    const from = at;
    at = endOf(lines, at);
    if (lines[from].trim()) sources.push(lines.slice(from, at).join("\n"));
  }
  return sources;
}

/** The line behind the block that begins at a line. */
function endOf(lines, from) {
  const line = lines[from];
  const fence = FENCE.exec(line);
  if (fence !== null) {
    for (let at = from + 1; at < lines.length; at++) if (closes(lines[at], fence[1])) return at + 1;
    return lines.length;
  }
  if (!line.trim() || HEADING.test(line) || RULE.test(line)) return from + 1;
  if (ITEM.test(line)) {
    let at = from + 1;
    while (at < lines.length && staysInList(lines, at, from)) at++;
    return at;
  }
  let at = from + 1;
  while (at < lines.length && lines[at].trim() && !interrupts(lines[at])) at++;
  return at;
}

function closes(line, fence) {
  const text = line.trim();
  return text.length >= fence.length && text === fence[0].repeat(text.length);
}

function interrupts(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || ITEM.test(line);
}

function staysInList(lines, at, from) {
  const line = lines[at];
  if (line.trim()) {
    if (/^[ \t]{2,}/.test(line)) return true;
    const item = ITEM.exec(line);
    if (item !== null && !RULE.test(line)) return isOrdered(item) === isOrdered(ITEM.exec(lines[from]));
    return !interrupts(line) && Boolean(lines[at - 1].trim());
  }
  const next = lines[at + 1] ?? "";
  return /^[ \t]{2,}\S/.test(next) || (ITEM.test(next) && staysInList(lines, at + 1, from));
}

function isOrdered(item) {
  return /\d/.test(item[2]);
}

function element(tag, children, attributes = {}) {
  return { tag, attributes, children };
}

const DEEPEST = 12; // quotes and lists in one another

/** Read the source of a block. */
export function readBlock(source, depth = 0) {
  const lines = source.split("\n");
  const fence = FENCE.exec(lines[0]);
  if (fence !== null) {
    const closed = lines.length > 1 && closes(lines.at(-1), fence[1]);
    const code = element("code", [lines.slice(1, closed ? -1 : undefined).join("\n")]);
    return element("pre", [code], fence[2] ? { "data-language": fence[2] } : {});
  }
  const heading = HEADING.exec(lines[0]);
  if (heading !== null) return element(`h${heading[1].length}`, inline(heading[2]));
  if (RULE.test(lines[0])) return element("hr", []);
  if (depth < DEEPEST && QUOTE.test(lines[0])) {
    return element("blockquote", read(lines.map((line) => line.replace(QUOTE, "")).join("\n"), depth + 1));
  }
  if (depth < DEEPEST && ITEM.test(lines[0])) return readList(lines, depth);
  if (lines.length > 1 && lines[0].includes("|") && DELIMITERS.test(lines[1])) return readTable(lines);
  return element("p", inline(lines.map((line) => line.replace(/^[ \t]+/, "")).join("\n")));
}

/** Read a text: its blocks. */
export function read(text, depth = 0) {
  return splitBlocks(text).map((source) => readBlock(source, depth));
}

function readList(lines, depth) {
  const first = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    const isNext = item !== null && item[1].length < (items.at(-1)?.width ?? Infinity);
    if (isNext) items.push({ width: item[0].length, lines: [line.slice(item[0].length)] });
    else items.at(-1).lines.push(line.replace(new RegExp(`^[ \t]{0,${items.at(-1).width}}`), ""));
  }
  const children = items.map((item) => {
    const blocks = read(item.lines.join("\n"), depth + 1);
    const tight = blocks.length > 0 && blocks[0].tag === "p" ? [...blocks[0].children, ...blocks.slice(1)] : blocks;
    return element("li", tight);
  });
  const start = Number.parseInt(first[2], 10);
  return isOrdered(first) ? element("ol", children, start === 1 ? {} : { start: String(start) }) : element("ul", children);
}

function readTable(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const row = (tag) => (line) => element("tr", cells(line).map((cell) => element(tag, inline(cell))));
  const body = lines.slice(2).map(row("td"));
  return element("table", [element("thead", [row("th")(lines[0])]), element("tbody", body)]);
}

// Longest spans that are looked for: what is longer is text, and looking stays linear.
const SPANS = [
  [/\\([!-/:-@[-`{-~])/y, (match) => match[1]],
  [/(`{1,3})(?!`)([^\n]{1,2000}?)(?<!`)\1(?!`)/y, (match) => element("code", [match[2].trim() || match[2]])],
  [/!?\[([^\][\n]{0,500})\]\(<?([^()\s<>]{1,2000})>?(?:[ \t]+"[^"\n]{0,500}")?\)/y, link],
  [/<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y, (match) => anchor(match[1], [match[1]])],
  [/https?:\/\/[^\s<>"')\]]{1,2000}/y, bareLink],
  [/\*\*(?=\S)((?:[^*\n]|\*(?!\*)){1,2000}?)(?<=\S)\*\*/y, (match) => element("strong", inline(match[1]))],
  [/\*(?=[^\s*])([^*\n]{1,2000}?)(?<=\S)\*/y, (match) => element("em", inline(match[1]))],
  [/(?<![\p{L}\p{N}_])__(?=\S)([^_\n]{1,2000}?)(?<=\S)__(?![\p{L}\p{N}_])/uy, (match) => element("strong", inline(match[1]))],
  [/(?<![\p{L}\p{N}_])_(?=[^\s_])([^_\n]{1,2000}?)(?<=\S)_(?![\p{L}\p{N}_])/uy, (match) => element("em", inline(match[1]))],
  [/~~(?=\S)([^~\n]{1,2000}?)(?<=\S)~~/y, (match) => element("del", inline(match[1]))],
  [/(?: {2,}|\\)\n/y, () => element("br", [])],
];

function link(match) {
  return anchor(match[2], match[1] ? inline(match[1]) : [match[2]]) ?? match[0];
}

function bareLink(match) {
  const address = match[0].replace(/[.,:;!?*_~]+$/, "");
  return [anchor(address, [address]) ?? address, match[0].slice(address.length)];
}

function anchor(address, children) {
  const safe = safeAddress(address, ["http:", "https:", "mailto:"]);
  return safe === null ? null : element("a", children, { href: safe, target: "_blank", rel: "noopener noreferrer" });
}

/** An address, if it is of one of these schemes; else null. */
export function safeAddress(address, schemes) {
  try {
    const url = new URL(address);
    return schemes.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const SPECIAL = /[\\`![<*_~\n ]|https?:/g;

/** Read the inside of a paragraph. */
function inline(text) {
  const children = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const found = spanAt(text, at);
    if (found === null) {
      SPECIAL.lastIndex = at + 1;
      const next = SPECIAL.exec(text)?.index ?? text.length;
      plain += text.slice(at, next);
      at = next;
      continue;
    }
    at = found.end;
    for (const child of found.children) {
      if (typeof child === "string") {
        plain += child;
      } else {
        if (plain) children.push(plain);
        plain = "";
        children.push(child);
      }
    }
  }
  if (plain) children.push(plain);
  return children;
}

function spanAt(text, at) {
  for (const [pattern, make] of SPANS) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) continue;
    return { end: at + match[0].length, children: [make(match) ?? match[0]].flat() };
  }
  return null;
}
