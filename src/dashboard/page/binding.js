// Which board stands on which table: at one table after the other a king is lifted and put back, and the board that saw it
// stands there. Nothing is drawn or asked here: what boards show goes in, and what came of it comes out.

import { differing, indexOf, squares } from "./board.js";

/** True where a king was lifted, and everything else stands as before. */
function isLifted(before, after) {
  const [square, ...more] = differing(before, after);
  if (!square || more.length) return false;
  const at = indexOf(square);
  return squares(before)[at].toLowerCase() === "k" && squares(after)[at] === " ";
}

/** What is bound, while somebody goes from table to table. The order is always a whole one: boards are exchanged, so none
 * is on two tables, and those that nobody binds take the tables that are left. */
export class Binding {
  /** What boards showed last, by their keys. */
  #shown = new Map();
  /** Kings that are lifted: how the board stood before, and whether that counts for nothing. */
  #lifted = new Map();
  #former = [];

  /** `order` has the keys of the boards by table. */
  constructor(order) {
    this.order = [...order];
    this.bound = new Set();
    this.at = order.length ? 0 : null;
  }

  /** A board shows `placement`. What came of it; null where that says nothing. */
  sees(key, placement, isPlaying) {
    const before = this.#shown.get(key);
    this.#shown.set(key, placement);
    const lift = this.#lifted.get(key);
    this.#lifted.delete(key);
    if (!this.order.includes(key) || before == null || placement == null || placement === before) {
      if (lift && placement === before) this.#lifted.set(key, lift);
      return null;
    }
    if (lift && placement === lift.before) return lift.spoilt ? null : this.#decide(key, lift.isPlaying);
    // Of what follows soon after each other the page may see the last: that king put back, and the other one lifted.
    const stood = lift ? lift.before : before;
    return isLifted(stood, placement) ? this.#lift(key, stood, isPlaying) : null;
  }

  /** Two kings at a time say nothing; those of games that go on are always in somebody's hand. */
  #lift(key, before, isPlaying) {
    const others = [...this.#lifted].filter(([, other]) => !other.isPlaying && !other.spoilt);
    const spoilt = !isPlaying && others.length > 0;
    this.#lifted.set(key, { before, isPlaying, spoilt });
    if (!spoilt) return isPlaying ? null : { what: "lifted", board: key };
    for (const [, other] of others) other.spoilt = true;
    return { what: "together", boards: [...others.map(([other]) => other), key] };
  }

  #decide(key, isPlaying) {
    if (isPlaying) return { what: "playing", board: key };
    const from = this.order.indexOf(key);
    if (this.bound.has(from) && from !== this.at) return { what: "twice", board: key, table: from };
    if (this.at === null) return null;
    this.#keep();
    const table = this.at;
    [this.order[table], this.order[from]] = [this.order[from], this.order[table]];
    this.bound.add(table);
    this.#next();
    return { what: "bound", board: key, table };
  }

  #keep() {
    this.#former.push({ order: [...this.order], bound: new Set(this.bound), at: this.at });
  }

  /** The next table that is not bound, from the present one on. */
  #next() {
    const free = this.order.findIndex((_, table) => table > this.at && !this.bound.has(table));
    this.at = free < 0 ? null : free;
  }

  /** Nobody is at this table. */
  skip() {
    if (this.at === null) return;
    this.#keep();
    this.#next();
  }

  /** Another table is next, be it bound or not. */
  turn(table) {
    this.#keep();
    this.at = table;
  }

  get canUndo() {
    return this.#former.length > 0;
  }

  /** The last step is taken back. */
  undo() {
    Object.assign(this, this.#former.pop());
  }
}
