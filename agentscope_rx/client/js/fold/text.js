/** Text that grows (R7). */

/**
 * Text from chunks. JavaScript's strings are ropes: a delta costs one concatenation, and a surrogate pair that
 * was cut between two chunks is one again.
 */
export class Chunked {
  text = "";
  #read = -1;

  /** Whether there is more than `read` has seen. */
  get hasGrown() {
    return this.#read !== this.text.length;
  }

  add(chunk) {
    this.text += chunk;
  }

  /** The text so far, noting that it has been read. */
  read() {
    this.#read = this.text.length;
    return this.text;
  }

  /** Let another text stand in its place. */
  replace(text) {
    this.text = text;
    this.#read = -1;
  }
}
