/** The ids of events that have been taken (R2). */

// Not more digits than a number has exactly.
const COUNTED = /^(.*?)(0|[1-9][0-9]{0,14})$/s;

/** Ids, each once. */
export class Ids {
  #known = new Set();

  get size() {
    return this.#known.size;
  }

  /** Note an id; return whether it is new. The empty one always is: it says nothing. */
  add(id) {
    if (!id) return true;
    if (this.#known.has(id)) return false;
    this.#known.add(id);
    return true;
  }

  /** The ids as JSON: the counts of each prefix as runs, and what stands alone. */
  save() {
    const counts = new Map();
    const single = [];
    for (const id of this.#known) {
      const counted = COUNTED.exec(id);
      if (counted === null) single.push(id);
      else if (counts.has(counted[1])) counts.get(counted[1]).push(Number(counted[2]));
      else counts.set(counted[1], [Number(counted[2])]);
    }
    const runs = new Map();
    for (const [prefix, numbers] of counts) {
      for (const [first, last] of runsOf(numbers.sort((a, b) => a - b))) {
        if (first === last) single.push(`${prefix}${first}`);
        else if (runs.has(prefix)) runs.get(prefix).push([first, last]);
        else runs.set(prefix, [[first, last]]);
      }
    }
    return { runs: Object.fromEntries(runs), single };
  }

  /** The ids that were saved. */
  static load(saved) {
    const ids = new Ids();
    for (const id of saved.single) ids.add(id);
    for (const [prefix, runs] of Object.entries(saved.runs)) {
      for (const [first, last] of runs) for (let count = first; count <= last; count++) ids.add(`${prefix}${count}`);
    }
    return ids;
  }
}

function* runsOf(numbers) {
  let first = numbers[0];
  for (const [index, number] of numbers.entries()) {
    if (numbers[index + 1] === number + 1) continue;
    yield [first, number];
    first = numbers[index + 1];
  }
}
