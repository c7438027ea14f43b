/** Blocks while they stream: a draft takes chunks, and gives its block whenever one asks. */

import { isObject, own } from "../json.js";
import { joinBase64 } from "./base64.js";
import { Chunked } from "./text.js";

const UNKNOWN_MEDIA_TYPE = "application/octet-stream";

/** What the metadata of a block's End holds for the block's provider (R20). */
export function ofProvider(metadata) {
  return Object.hasOwn(metadata, "block") && isObject(metadata.block) ? own(metadata.block) : null;
}

function hasMembers(metadata) {
  return Object.keys(metadata).length > 0;
}

/** A text or thinking block; `kind` says which. */
export class TextDraft extends Chunked {
  final = false;
  metadata = null;
  #block = null;

  constructor(kind, modelCall) {
    super();
    this.kind = kind;
    this.modelCall = modelCall;
  }

  end(metadata) {
    this.final = true;
    if (hasMembers(metadata)) {
      this.metadata = ofProvider(metadata);
      this.#block = null;
    }
  }

  /** The block so far; the same value until there is more. */
  block() {
    if (this.#block === null || this.hasGrown) {
      const metadata = this.kind === "thinking" || this.metadata !== null ? { metadata: this.metadata } : {};
      this.#block = own({ type: this.kind, [this.kind]: this.read(), ...metadata });
    }
    return this.#block;
  }
}

/** A data block: base64 chunks, or an address, which then is all of it. */
export class DataDraft extends Chunked {
  final = false;
  url = null;
  metadata = null;
  #block = null;

  constructor(id, mediaType, modelCall) {
    super();
    this.id = id;
    this.mediaType = mediaType;
    this.modelCall = modelCall;
  }

  /** Take more data; the first media type that is named stands. */
  take(data, url, mediaType) {
    this.add(data);
    if ((mediaType && !this.mediaType) || url !== null) this.#block = null;
    this.mediaType = this.mediaType || mediaType;
    if (url !== null) this.url = url;
  }

  end(metadata) {
    this.final = true;
    if (hasMembers(metadata)) {
      this.metadata = ofProvider(metadata);
      this.#block = null;
    }
  }

  block() {
    if (this.#block === null || this.hasGrown) {
      const data = this.read();
      const source =
        this.url === null
          ? { type: "base64", media_type: this.mediaType || UNKNOWN_MEDIA_TYPE, data: joinBase64(data) }
          : { type: "url", url: this.url, ...(this.mediaType === null ? {} : { mime_type: this.mediaType }) };
      const metadata = this.metadata === null ? {} : { metadata: this.metadata };
      this.#block = own({ type: "data", source: own(source), id: this.id, ...metadata });
    }
    return this.#block;
  }
}

/** A block that came whole. */
export class WholeDraft {
  final = true;
  #block;

  constructor(block) {
    this.#block = block;
  }

  block() {
    return this.#block;
  }
}
