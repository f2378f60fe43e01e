// All boards on one screen, for the wall: as large as they fit, with diagrams where there is room.

import { Board, described } from "./board.js";
import { h, say } from "./dom.js";
import { hasResult, inOrder, keyOf, lastMove, timesNow, titleOf, walk, wantsKind, wantsText } from "./grid.js";
import { ageText, mostUrgent } from "./sight.js";
import { clockText, t } from "./words.js";

/** Letters from large to small, in pixels; below the last the wall scrolls. */
const SIZES = [22, 20, 18, 17, 16, 15, 14, 13, 12, 11];
/** A diagram wants letters beside it that can be read from afar. */
const SMALLEST_WITH_DIAGRAM = 13;
const SMALLEST_DIAGRAM = 84;
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
    const state = !board.gateway_online ? t("gateway_away") : !board.online ? t("away")
      : hasResult(board) ? board.result : board.game == null ? t("no_game") : "";
    say(this.state, state);
    this.state.hidden = !state;
    const playing = board.game != null && !hasResult(board);
    for (const [i, side] of ["white", "black"].entries()) {
      const name = board.players[i] ?? t(side);
      say(this.sides[side].name, name);
      this.sides[side].name.title = name;
      this.sides[side].name.parentElement.classList.toggle("turn", playing && board.to_move === side);
    }
    const words = wantsText(board, this.case);
    // What is wrong with it in detail is at the board.
    say(this.title, words.split(" (")[0]);
    this.flag.title = words;
    this.flag.hidden = !words;
    const placement = board.placement ?? board.fen;
    if (diagrams) this.board.show({ placement, last: board.last_uci, label: `${title}. ${described(placement)}` });
    this.tick(board);
  }

  /** What of it can change how much room is wanted. */
  get wants() {
    return [this.id, this.state, this.sides.white.name, this.sides.black.name, this.title].map((part) => part.textContent).join("|");
  }

  tick(board) {
    const times = timesNow(board);
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

  constructor() {
    this.list = h("div", { class: "wall" });
    this.empty = h("p", { class: "empty" });
    this.element = h("section", { class: "wallpage" }, h("h1", { class: "sr" }), this.list, this.empty);
    this.list.addEventListener("keydown", (event) => walk(this.list, event));
    addEventListener("resize", () => this.again?.());
  }

  show(hall) {
    this.again = () => this.show(hall);
    say(this.element.firstChild, t("wall"));
    const boards = inOrder(hall.boards.values());
    const shown = boards.map((board) => {
      let cell = this.#cells.get(keyOf(board));
      if (!cell) this.#cells.set(keyOf(board), (cell = new Cell()));
      cell.show(board, hall, this.#diagrams);
      return cell;
    });
    // Elements that stay where they are keep the focus.
    shown.forEach(({ element }, i) => {
      if (this.list.children[i] !== element) this.list.insertBefore(element, this.list.children[i] ?? null);
    });
    while (this.list.children.length > shown.length) this.list.lastChild.remove();
    say(this.empty, shown.length ? "" : t("waiting"));
    this.empty.hidden = shown.length > 0;
    if (!this.list.isConnected || !shown.length) return;
    const { clientWidth, clientHeight } = this.list;
    const wants = JSON.stringify([clientWidth, clientHeight, document.documentElement.lang, shown.map((cell) => cell.wants)]);
    if (wants !== this.#fitted || !this.#fits()) {
      this.#fitted = wants;
      const had = this.#diagrams;
      this.#fit(shown.length);
      if (this.#diagrams && !had) shown.forEach((cell, i) => cell.show(boards[i], hall, true));
    }
  }

  #fits() {
    return this.list.scrollHeight <= this.list.clientHeight && this.list.scrollWidth <= this.list.clientWidth
      && [...this.list.children].every((cell) => cell.scrollWidth <= cell.clientWidth);
  }

  /** The columns for which the boards are largest; then the largest letters that fit. */
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
    const tries = SIZES.filter((size) => diagram >= SMALLEST_DIAGRAM && size >= SMALLEST_WITH_DIAGRAM).map((size) => [size, true]);
    // Names are broken within a word only where nothing else helps.
    const last = [SIZES.at(-2), SIZES.at(-1)].map((size) => [size, false, true]);
    for (const [size, diagrams, tight = false] of [...tries, ...SIZES.map((size) => [size, false]), ...last]) {
      this.#diagrams = diagrams;
      this.list.classList.toggle("diagrams", diagrams);
      this.list.classList.toggle("tight", tight);
      this.list.style.setProperty("--size", `${size}px`);
      if (this.#fits()) return;
    }
  }

  /** Clocks and ages run on. */
  tick(hall) {
    for (const [key, cell] of this.#cells) {
      const board = hall.boards.get(key);
      if (board && cell.element.isConnected && (board.clock?.running || cell.case)) cell.tick(board);
    }
  }
}
