// All boards on one screen, for the wall: as large as they fit, with diagrams where there is room.

import { Board, described } from "./board.js";
import { h, place, say } from "./dom.js";
import { walk } from "./grid.js";
import { Near } from "./near.js";
import { isPlaying, keyOf, lastMove, stateText, timesNow, titleOf, wantsKind, wantsText } from "./shown.js";
import { ageText, inOrder, mostUrgent } from "./sight.js";
import { clockText, language, t } from "./words.js";

/** Letters from large to small, in pixels. */
const SIZES = [22, 20, 18, 17, 16, 15, 14, 13, 12, 11];
/** A diagram wants letters beside it that can be read from afar. */
const SMALLEST_WITH_DIAGRAM = 13;
const SMALLEST_DIAGRAM = 84;
/** A board with less room than this, in square pixels, cannot be read: so many boards are not fitted, the wall scrolls. */
const SMALLEST_CELL = 5000;
const GAP = 5;

class Cell {
  constructor() {
    this.id = h("span", { class: "id" });
    this.move = h("span", { class: "move" });
    this.state = h("span", { class: "state" });
    this.board = new Board();
    this.sides = {};
    const row = (side) => {
      const [name, clock] = [h("span", { class: "name" }), h("span", { class: "clock" })];
      this.sides[side] = { name, clock };
      return h("span", { class: `player ${side}` }, h("span", { class: "dot", "aria-hidden": "true" }), name, clock);
    };
    this.title = h("span");
    this.age = h("span", { class: "age" });
    this.flag = h("span", { class: "flag" }, this.title, " ", this.age);
    this.element = h("a", { class: "cell" }, this.board.element,
      h("span", { class: "words" }, h("span", { class: "top" }, this.id, this.move, this.state),
        row("white"), row("black"), this.flag));
  }

  show(board, hall, diagrams) {
    const title = titleOf(board, hall);
    this.element.setAttribute("href", `#/board/${keyOf(board)}`);
    this.case = mostUrgent(board);
    this.element.className = `cell${wantsKind(board)}${board.online ? "" : " away"}`;
    say(this.id, hall.gateways.size > 1 ? `${board.board} · ${board.gateway}` : board.board);
    this.id.title = title;
    say(this.move, lastMove(board));
    const state = stateText(board);
    say(this.state, state);
    this.state.hidden = !state;
    for (const [i, side] of ["white", "black"].entries()) {
      const name = board.players[i] ?? t(side);
      say(this.sides[side].name, name);
      this.sides[side].name.title = name;
      this.sides[side].name.parentElement.classList.toggle("turn", isPlaying(board) && board.to_move === side);
    }
    const words = wantsText(board, this.case);
    // What is wrong with it in detail is at the board.
    say(this.title, words.split(" (")[0]);
    this.flag.title = words;
    this.flag.hidden = !words;
    const placement = board.placement ?? board.fen;
    if (diagrams) this.board.show({ placement, last: board.last_uci, label: `${title}. ${described(placement)}` });
    this.shown = board;
    // What of it can change how much room is wanted.
    this.wants = [this.id, this.state, this.sides.white.name, this.sides.black.name, this.title].map((part) => part.textContent).join("|");
    this.tick();
  }

  tick() {
    const times = timesNow(this.shown);
    for (const side of ["white", "black"]) {
      const { clock } = this.sides[side];
      say(clock, times ? clockText(times[side]) : "");
      clock.classList.toggle("runs", times?.running === side);
      clock.classList.toggle("low", Boolean(times) && times[side] < 60_000);
    }
    say(this.age, ageText(this.case));
  }
}

/** The page for the wall. */
export class Wall {
  #cells = new Map();
  #fitted = "";
  #diagrams = false;
  /** True while all boards are seen at once. */
  #fitting = false;

  constructor() {
    this.list = h("div", { class: "wall" });
    this.empty = h("p", { class: "empty" });
    this.element = h("section", { class: "wallpage" }, h("h1", { class: "sr" }), this.list, this.empty);
    this.near = new Near((cell) => cell.tick(), () => {}, this.list);
    this.list.addEventListener("keydown", (event) => walk(this.list, event));
    addEventListener("resize", () => this.again?.());
  }

  show(hall) {
    this.again = () => this.show(hall);
    this.hall = hall;
    say(this.element.firstChild, t("wall"));
    const cells = inOrder(hall.boards.values()).map((board) => this.#cell(board));
    place(this.list, cells.map((cell) => cell.element));
    if (this.#cells.size > hall.boards.size) this.#forget();
    say(this.empty, cells.length ? "" : t("waiting"));
    this.empty.hidden = cells.length > 0;
    if (this.list.isConnected && cells.length) this.#fitTo(cells);
  }

  #cell(board) {
    let cell = this.#cells.get(keyOf(board));
    if (!cell) {
      this.#cells.set(keyOf(board), (cell = new Cell()));
      this.near.watch(cell);
    }
    const how = [language, this.hall.gateways.size, this.#diagrams].join();
    if (cell.shown !== board || cell.how !== how) cell.show(board, this.hall, this.#diagrams);
    cell.how = how;
    return cell;
  }

  /** Lets go of the cells of boards that are no longer there. */
  #forget() {
    for (const [key, cell] of this.#cells) {
      if (this.hall.boards.has(key)) continue;
      this.near.forget(cell);
      this.#cells.delete(key);
    }
  }

  /** Finds the size of the boards anew where they want another room than before. */
  #fitTo(cells) {
    const { clientWidth: width, clientHeight: height } = this.list;
    const isLong = (width * height) / cells.length < SMALLEST_CELL;
    const wants = [width, height, language, isLong || cells.map((cell) => cell.wants).join("\n")].join("\n");
    if (wants === this.#fitted) return;
    this.#fitted = wants;
    this.list.classList.toggle("long", isLong);
    const had = this.#diagrams;
    if (isLong) this.#set(SMALLEST_WITH_DIAGRAM, false);
    this.#fitting = !isLong && this.#fit(cells.length);
    if (this.#diagrams && !had) cells.forEach(({ shown }) => this.#cell(shown));
  }

  #fits() {
    return this.list.scrollHeight <= this.list.clientHeight && this.list.scrollWidth <= this.list.clientWidth
      && [...this.list.children].every((cell) => cell.scrollWidth <= cell.clientWidth);
  }

  /** Sets the size of the letters, and whether there are diagrams; `tight` breaks names within a word. */
  #set(size, diagrams, tight = false) {
    this.#diagrams = diagrams;
    this.list.classList.toggle("diagrams", diagrams);
    this.list.classList.toggle("tight", tight);
    this.list.style.setProperty("--size", `${size}px`);
  }

  /** The columns for which the boards are largest; then the largest letters that fit. False where none do. */
  #fit(count) {
    const { clientWidth: width, clientHeight: height } = this.list;
    const sizeOf = (columns) => {
      const rows = Math.ceil(count / columns);
      return { columns, wide: (width - GAP * (columns - 1)) / columns, high: (height - GAP * (rows - 1)) / rows };
    };
    const all = Array.from({ length: count }, (_, i) => sizeOf(i + 1));
    const best = all.reduce((a, b) => (Math.min(b.wide / 1.35, b.high) > Math.min(a.wide / 1.35, a.high) ? b : a));
    const diagram = Math.floor(Math.min(best.high - 16, best.wide * 0.48));
    this.list.style.setProperty("--columns", best.columns);
    this.list.style.setProperty("--diagram", `${diagram}px`);
    const pictured = SIZES.filter((size) => diagram >= SMALLEST_DIAGRAM && size >= SMALLEST_WITH_DIAGRAM);
    // Names are broken within a word only where nothing else helps. What does not fit at all scrolls.
    const tries = [[pictured, true], [SIZES, false], [SIZES.slice(-2), false, true]];
    return tries.some(([sizes, ...how]) => this.#largest(sizes, ...how));
  }

  /** Sets the largest letters that fit, looking at few of the sizes: each look lays all boards out anew. False where none fits. */
  #largest(sizes, diagrams, tight) {
    let [from, to] = [0, sizes.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      this.#set(sizes[middle], diagrams, tight);
      if (this.#fits()) to = middle;
      else from = middle + 1;
    }
    if (sizes.length) this.#set(sizes[Math.min(from, sizes.length - 1)], diagrams, tight);
    return from < sizes.length;
  }

  /** Clocks and ages run on; a half-move or a clock may have come to want another line. */
  tick() {
    for (const cell of this.near) if (cell.shown.clock?.running || cell.case) cell.tick();
    if (!this.#fitting || this.#fits()) return;
    this.#fitted = "";
    this.show(this.hall);
  }
}
