// The hall: a card for each board, those with an open irregularity first.

import { Board, described, differing } from "./board.js";
import { h, place, say } from "./dom.js";
import { STATES, found } from "./find.js";
import { Near } from "./near.js";
import { pushText } from "./russian.js";
import { isPlaying, keyOf, lastMove, stateText, timesNow, titleOf, wantsKind, wantsText } from "./shown.js";
import { ageText, inOrder, mostUrgent } from "./sight.js";
import { clockText, dayTime, language, t } from "./words.js";

/** A push to lichess in a line: what it took and when, or why it takes nothing. */
function pushLine({ round, taken, error, games, refused }) {
  if (error) return t(taken ? "push_stuck" : "push_error", { round, error: pushText(error), time: dayTime(taken) });
  if (!taken) return t("push_begins", { round });
  const line = t("push_taken", { round, n: games, time: dayTime(taken) });
  return refused.length ? `${line} ${t("push_refused", { boards: refused.join(", ") })}` : line;
}

/** Arrow keys go from card to card as the eye does. */
export function walk(list, event) {
  const cards = [...list.children];
  const i = cards.indexOf(document.activeElement);
  if (i < 0) return;
  const below = cards.findIndex((card) => card.offsetTop !== cards[0].offsetTop);
  const columns = below < 0 ? cards.length : below;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  if (!step || !cards[i + step]) return;
  event.preventDefault();
  cards[i + step].focus();
}

class Card {
  constructor() {
    this.board = new Board();
    this.title = h("span");
    this.age = h("span", { class: "age" });
    this.flag = h("p", { class: "flag" }, this.title, " ", this.age);
    this.name = h("h2");
    this.state = h("span", { class: "state" });
    this.players = {};
    this.clocks = {};
    for (const side of ["black", "white"]) {
      this.players[side] = h("span", { class: "name" });
      this.clocks[side] = h("span", { class: "clock" });
    }
    const row = (side) => h("div", { class: `player ${side}` },
      h("span", { class: "dot", "aria-hidden": "true" }), this.players[side], this.clocks[side]);
    this.near = false;
    this.move = h("span", { class: "move" });
    this.cast = h("span", { class: "cast" });
    this.moment = h("span", { class: "moment" });
    this.element = h("a", { class: "card" },
      h("div", { class: "head" }, this.name, this.state), this.flag,
      row("black"), this.board.element, row("white"), h("div", { class: "foot" }, this.move, this.cast, this.moment));
  }

  show(board, hall) {
    const title = titleOf(board, hall);
    this.element.setAttribute("href", `#/board/${keyOf(board)}`);
    this.element.className = `card${wantsKind(board)}${board.online ? "" : " away"}`;
    say(this.name, title);
    const state = stateText(board);
    say(this.state, state);
    this.state.hidden = !state;
    const first = mostUrgent(board);
    this.case = first;
    say(this.title, wantsText(board, first));
    this.flag.hidden = !this.title.textContent;
    for (const [i, side] of ["white", "black"].entries()) {
      say(this.players[side], board.players[i] ?? t(side));
      this.players[side].title = board.players[i] ?? "";
      const turn = isPlaying(board) && board.to_move === side;
      this.players[side].parentElement.classList.toggle("turn", turn);
    }
    const refused = board.lichess?.error;
    say(this.cast, refused ? t("push_card") : "");
    this.cast.title = refused ?? "";
    this.cast.hidden = !refused;
    say(this.move, lastMove(board) || (board.game == null ? "" : t("start")));
    say(this.moment, board.plies ? [t("half_move", { n: board.plies }), dayTime(board.last_time)].filter(Boolean).join(" · ") : "");
    this.shown = board;
    this.label = [title, this.title.textContent].filter(Boolean).join(". ");
    if (this.near) this.draw();
    else this.board.name(this.label);
  }

  /** Draws the diagram and has the clocks run, for as long as the card is near the screen. */
  draw() {
    this.near = true;
    const { fen, placement, last_uci: last } = this.shown;
    const wrong = fen && placement && isPlaying(this.shown) ? differing(fen, placement) : [];
    const stands = placement ?? fen;
    this.board.show({ placement: stands, last, marked: wrong.length <= 8 ? wrong : [], label: `${this.label}. ${described(stands)}` });
    this.tick();
  }

  clear() {
    this.near = false;
    this.board.clear(this.label);
  }

  tick() {
    const times = timesNow(this.shown);
    for (const side of ["white", "black"]) {
      say(this.clocks[side], times ? clockText(times[side]) : "");
      this.clocks[side].classList.toggle("runs", times?.running === side);
      this.clocks[side].classList.toggle("low", Boolean(times) && times[side] < 60_000);
    }
    say(this.age, ageText(this.case));
  }
}

/** The page with all boards. */
export class Grid {
  #cards = new Map();
  #near = new Near((card) => card.draw(), (card) => card.clear());
  state = "all";
  words = "";

  constructor() {
    this.list = h("div", { class: "grid" });
    this.empty = h("p", { class: "empty" });
    this.chips = h("div", { class: "chips", role: "group" });
    this.search = h("input", { type: "search", oninput: () => { this.words = this.search.value; this.again?.(); } });
    this.count = h("p", { class: "count", role: "status" });
    this.casts = h("p", { class: "casts" });
    this.element = h("section", { class: "hall" }, h("div", { class: "filters" }, this.chips, this.count, this.search),
      this.list, this.empty, this.casts);
    this.list.addEventListener("keydown", (event) => walk(this.list, event));
    this.search.addEventListener("keydown", (event) => this.#keyOfSearch(event));
  }

  show(hall) {
    this.again = () => this.show(hall);
    this.#showStates(hall);
    const boards = found(inOrder(hall.boards.values()).filter(STATES[this.state]), this.words);
    place(this.list, boards.map((board) => this.#card(board, hall).element));
    if (this.#cards.size > hall.boards.size) this.#forget(hall);
    say(this.count, this.words.trim() ? t("found", { n: boards.length }) : "");
    say(this.empty, boards.length ? "" : hall.boards.size ? t("nothing") : t("waiting"));
    this.empty.hidden = boards.length > 0;
    say(this.casts, hall.pushes.map(pushLine).join(" "));
    this.casts.classList.toggle("bad", hall.pushes.some((push) => push.error || push.refused.length));
    this.casts.hidden = !hall.pushes.length;
  }

  #card(board, hall) {
    let card = this.#cards.get(keyOf(board));
    if (!card) {
      this.#cards.set(keyOf(board), (card = new Card()));
      this.#near.watch(card);
    }
    const isNew = card.shown !== board || card.language !== language || card.gateways !== hall.gateways.size;
    if (isNew) {
      card.show(board, hall);
      Object.assign(card, { language, gateways: hall.gateways.size });
    }
    return card;
  }

  /** Lets go of the cards of boards that are no longer there. */
  #forget(hall) {
    for (const [key, card] of this.#cards) {
      if (hall.boards.has(key)) continue;
      this.#near.forget(card);
      this.#cards.delete(key);
    }
  }

  #showStates(hall) {
    this.search.placeholder = t("find");
    this.search.setAttribute("aria-label", t("find"));
    this.chips.setAttribute("aria-label", t("show"));
    const boards = [...hall.boards.values()];
    for (const name of Object.keys(STATES)) {
      let chip = this.chips.querySelector(`[data-filter="${name}"]`);
      if (!chip) {
        chip = h("button", { class: "chip", type: "button", "data-filter": name, onclick: () => { this.state = name; this.again(); } });
        this.chips.append(chip);
      }
      say(chip, `${t(name)} ${boards.filter(STATES[name]).length}`);
      chip.setAttribute("aria-pressed", String(this.state === name));
    }
  }

  /** Goes to a board. False where it is not shown. */
  goTo(key) {
    const element = this.#cards.get(key)?.element;
    if (!element?.isConnected) return false;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "center" });
    return true;
  }

  /** Enter opens the board that fits best; an arrow goes to it. */
  #keyOfSearch(event) {
    const first = this.list.firstElementChild;
    if (!first || !["Enter", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Enter") location.hash = first.hash;
    else first.focus();
  }

  /** Clocks and ages run on. */
  tick() {
    for (const card of this.#near) if (card.shown.clock?.running || card.case) card.tick();
  }
}
