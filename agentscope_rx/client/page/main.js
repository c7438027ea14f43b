/** The page: plays `?recorded=FILE` (of the same origin; `recorded.jsonl` beside it by default). */

import { chat } from "./chat.js";
import { Recorded } from "./recorded.js";

const options = new URLSearchParams(location.search);
const file = new URL(options.get("recorded") ?? "recorded.jsonl", location.href);
const answer = await fetch(file);
await chat(document.getElementById("chat"), new Recorded(await answer.text(), Number(options.get("pause") ?? 25)));
