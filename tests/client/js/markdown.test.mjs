// Markdown of models: what it becomes, that nothing in it can do harm, and that no text makes it slow.

import assert from "node:assert/strict";
import { test } from "node:test";

import { read, readBlock, splitBlocks } from "../../../agentscope_rx/client/page/markdown.js";

/** A tree as text, to be compared. */
function html(node) {
  if (Array.isArray(node)) return node.map(html).join("");
  if (typeof node === "string") return node.replaceAll("<", "‹").replaceAll("\n", "⏎");
  const attributes = Object.entries(node.attributes).filter(([name]) => !["target", "rel"].includes(name));
  return `<${node.tag}${attributes.map(([name, value]) => ` ${name}=${value}`).join("")}>${html(node.children)}</${node.tag}>`;
}

const CASES = [
  ["a\nb\n\nc", "<p>a⏎b</p><p>c</p>"],
  ["## Title ##\ntext", "<h2>Title</h2><p>text</p>"],
  ["#no", "<p>#no</p>"],
  ["---\n***", "<hr></hr><hr></hr>"],
  ["**b** *i* ~~d~~ `c` __b__ _i_", "<p><strong>b</strong> <em>i</em> <del>d</del> <code>c</code> <strong>b</strong> <em>i</em></p>"],
  ["**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"],
  ["2 * 3 * 4, a_b_c, \\*no\\*", "<p>2 * 3 * 4, a_b_c, *no*</p>"],
  ["`` a`b ``", "<p><code>a`b</code></p>"],
  ["```py\na **b**\n\n# c\n```\nd", "<pre data-language=py><code>a **b**⏎⏎# c</code></pre><p>d</p>"],
  ["```\nstill strea", "<pre><code>still strea</code></pre>"],
  ["- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"],
  ["3. a\n   - b\n4. c", "<ol start=3><li>a<ul><li>b</li></ul></li><li>c</li></ol>"],
  ["- a\n\n  more\n- b\n\nend", "<ul><li>a<p>more</p></li><li>b</li></ul><p>end</p>"],
  ["> a\n> - b", "<blockquote><p>a</p><ul><li>b</li></ul></blockquote>"],
  ["|a|b|\n|-|:-:|\n|1|**2**|", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table>"],
  ["[x](https://a.org/b) <https://a.org> https://a.org/c.", "<p><a href=https://a.org/b>x</a> <a href=https://a.org/>https://a.org</a> <a href=https://a.org/c>https://a.org/c</a>.</p>"],
  ["![alt](https://a.org/x.png)", "<p><a href=https://a.org/x.png>alt</a></p>"],
  ["a  \nb", "<p>a<br></br>b</p>"],
  ["a\r\n\r\nb", "<p>a</p><p>b</p>"],
];

for (const [text, expected] of CASES) {
  test(JSON.stringify(text), () => assert.equal(html(read(text)), expected));
}

const HARM = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:x) <javascript:alert(1)>",
  "![x](javascript:alert(1))",
  "[x](java\tscript:alert(1))",
  "[x](https://a.org/\"onclick=alert(1))",
  "```\" onclick=alert(1)\nx\n```",
  "| <b> |\n|-|-|\n| <i onclick=x> |",
];

const TAGS = new Set(
  "p h1 h2 h3 h4 h5 h6 hr pre code blockquote ul ol li table thead tbody tr th td strong em del a br".split(" "),
);
const ATTRIBUTES = new Set(["href", "target", "rel", "start", "data-language"]);

function check(node) {
  if (typeof node === "string") return;
  assert.ok(TAGS.has(node.tag), node.tag);
  for (const [name, value] of Object.entries(node.attributes)) {
    assert.ok(ATTRIBUTES.has(name), name);
    if (name === "href") assert.match(value, /^(https?|mailto):/);
  }
  node.children.forEach(check);
}

test("whatever is written, only elements and addresses that do no harm come of it", () => {
  for (const text of HARM) read(text).forEach(check);
  const pieces = [..."*_`~[]()<>!#-|>:\\ \n1.ab", "https://a.org", "javascript:", "\n\n", "```", "**", "  - "];
  let seed = 7;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % below;
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: 30 }, () => pieces[random(pieces.length)]).join("");
    read(text).forEach(check);
    assert.deepEqual(splitBlocks(text).map((source) => readBlock(source)), read(text));
  }
});

test("a text that grows keeps the blocks before its last one", () => {
  const text = CASES.map(([source]) => source).filter((source) => !source.includes("strea")).join("\n\n");
  let before = [];
  for (let end = 1; end <= text.length; end++) {
    const sources = splitBlocks(text.slice(0, end));
    const stays = Math.max(0, before.length - 2);
    assert.deepEqual(sources.slice(0, stays), before.slice(0, stays));
    before = sources;
  }
});

test("no text makes it slow", () => {
  for (const piece of ["*", "**a ", "_a ", "[", "[a](", "`", "` ", "<", "~~", "> ", "- ", "  - a\n", "|", "\\", "a\n", "!["]) {
    const began = performance.now();
    read(piece.repeat(20_000));
    assert.ok(performance.now() - began < 3_000, JSON.stringify(piece));
  }
});
