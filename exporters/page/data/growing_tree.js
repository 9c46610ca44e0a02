// A call tree that makes the children of a node when they are asked for. Its columns get longer
// then, and may be other arrays than before: read them through the tree, not through a copy.
//
// Node 0 is the root. A node has parts, of which it is the sum; its children are what is below its
// parts, by function.

/**
 * @typedef {object} Parts
 * @property {(part: number) => number} self ns
 * @property {(part: number) => number} total ns
 * @property {(part: number) => number} samples
 * @property {(part: number, add: (part: number, place: number) => void) => void} forEachBelow
 *   place: a node of the trie, the frame that the part below stands on. Asked once per part.
 */

export class Tree {
  #trie;
  #parts;  // of the nodes without children as yet; null afterwards
  #children = [];
  #of;
  #group;  // scratch: by function, the child that is being made

  constructor(trie, func, parts, of) {
    this.#trie = trie;
    this.#of = of;
    this.#parts = [];
    this.#group = new Int32Array(trie.functions);
    this.count = 0;
    this.parent = new Int32Array(64);   // -1 of the root
    this.func = new Int32Array(64);     // -1 of a root that stands for no function
    this.stack = new Int32Array(64);    // a row of profile.stacks that ends here; -1 of the root
    this.self = new Float64Array(64);   // ns
    this.total = new Float64Array(64);  // ns
    this.samples = new Uint32Array(64); // of the total
    this.#append(-1, func, -1);
    for (const part of parts) this.#add(0, part);
  }

  /** @returns {number[]} heaviest first */
  children(node) {
    return this.#children[node] ??= this.#makeChildren(node);
  }

  #makeChildren(node) {
    const {func, row} = this.#trie;
    const first = this.count;
    for (const part of this.#parts[node]) {
      this.#of.forEachBelow(part, (below, place) => {
        let child = this.#group[func[place]];
        if (child < first || this.func[child] !== func[place]) {
          child = this.#append(node, func[place], row[place]);
          this.#group[func[place]] = child;
        }
        this.#add(child, below);
      });
    }
    this.#parts[node] = null;
    const made = Array.from({length: this.count - first}, (_, i) => first + i);
    return made.sort((a, b) => this.total[b] - this.total[a] || a - b);
  }

  #append(parent, func, stack) {
    const node = this.count++;
    if (node === this.parent.length) this.#grow();
    this.parent[node] = parent;
    this.func[node] = func;
    this.stack[node] = stack;
    this.#parts.push([]);
    return node;
  }

  #add(node, part) {
    this.#parts[node].push(part);
    this.self[node] += this.#of.self(part);
    this.total[node] += this.#of.total(part);
    this.samples[node] += this.#of.samples(part);
  }

  #grow() {
    for (const column of ["parent", "func", "stack", "self", "total", "samples"]) {
      const longer = new this[column].constructor(2 * this[column].length);
      longer.set(this[column]);
      this[column] = longer;
    }
  }
}
