/**
 * Streams of bytes cut into server-sent events: pure, incremental, in linear time.
 *
 * To the WHATWG text: UTF-8 always, lines end with LF, CR or CRLF and nothing else, comments are ignored,
 * `data` lines are joined by LF. The network may cut anywhere, also inside a character or a CRLF.
 */

import { ConfigurationError, WireError } from "./errors.js";

export const DEFAULT_LIMIT = 16 * 2 ** 20;

/** Bytes in, whole lines out, without their ends. */
class LineReader {
  #decoder = new TextDecoder("utf-8"); // takes a byte order mark off the beginning
  #limit;
  #part = "";
  #afterCR = false;

  constructor(limit) {
    this.#limit = limit;
  }

  feed(chunk) {
    let text = this.#decoder.decode(chunk, { stream: true });
    if (this.#afterCR && text) {
      this.#afterCR = false;
      if (text[0] === "\n") text = text.slice(1);
    }
    let lines;
    if (text.includes("\r")) {
      this.#afterCR = text.endsWith("\r");
      lines = text.split(/\r\n?|\n/);
    } else {
      lines = text.split("\n");
    }
    lines[0] = this.#part + lines[0];
    this.#part = lines.pop();
    if (this.#part.length > this.#limit) this.#refuse(this.#part);
    for (const line of lines) if (line.length > this.#limit) this.#refuse(line);
    return lines;
  }

  #refuse(line) {
    throw new WireError(`a line is longer than ${this.#limit} characters: ${line.slice(0, 80)}…`);
  }
}

/**
 * Bytes in, server-sent events out.
 *
 * A frame is `{data, event, id}`: its data lines joined by LF; its type, empty if it has none; the last id that
 * was given, by it or before it. What the stream leaves without its blank line is no frame: who can resume
 * gets it whole.
 */
export class SSEReader {
  #lines;
  #limit;
  #data = [];
  #size = 0;
  #event = "";
  #id;

  /** Of the last complete frame, also of one without data; where a reader may resume. */
  lastEventId;
  /** Milliseconds that the server wants a reader to wait before it connects again; null if it did not say. */
  retry = null;

  constructor({ limit = DEFAULT_LIMIT, lastEventId = "" } = {}) {
    if (!(limit >= 1)) throw new ConfigurationError(`limit=${limit} lets nothing through; give characters ≥ 1`);
    this.#lines = new LineReader(limit);
    this.#limit = limit;
    this.#id = this.lastEventId = lastEventId;
  }

  /** Take the next bytes; return the frames that they complete. */
  feed(chunk) {
    const frames = [];
    for (const line of this.#lines.feed(chunk)) {
      if (line) {
        this.#field(line);
        continue;
      }
      this.lastEventId = this.#id;
      if (this.#data.length > 0) frames.push({ data: this.#data.join("\n"), event: this.#event, id: this.#id });
      this.#data = [];
      this.#size = 0;
      this.#event = "";
    }
    return frames;
  }

  #field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#data.push(value);
      this.#size += line.length;
      if (this.#size > this.#limit) {
        throw new WireError(`an event is longer than ${this.#limit} characters: ${this.#data[0].slice(0, 80)}…`);
      }
    } else if (name === "event") {
      this.#event = value;
    } else if (name === "id" && !value.includes("\0")) {
      this.#id = value;
    } else if (name === "retry" && /^[0-9]+$/.test(value)) {
      this.retry = Number(value);
    }
  }
}
