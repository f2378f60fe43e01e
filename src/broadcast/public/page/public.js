// The games of the round, and one of them with its moves. What is shown here is behind the boards as far as the
// organiser wants it.

import { Board, described } from "./board.js";
import { fetched, h, say } from "./dom.js";
import { clockText, language, t } from "./words.js";

const WORDS = {
  games: ["Games", "Партии"],
  back: ["All games", "Все партии"],
  waiting: ["No games yet.", "Партий пока нет."],
  away: ["No connection. What you see may be old; it comes back by itself.", "Нет связи. Данные могли устареть; связь восстановится сама."],
  number: ["Board {n}", "Доска {n}"],
  live: ["live", "идёт"],
  moves: ["Moves", "Ходы"],
  step: ["Arrow keys go through the moves.", "Стрелками можно листать ходы."],
};
const word = (key, slots = {}) =>
  WORDS[key][language === "ru" ? 1 : 0].replace(/\{(\w+)\}/g, (_, slot) => slots[slot] ?? "");

/** How often it is looked whether something is new. */
const EVERY_MS = 4_000;

export const nameOf = (game, side) => game.players[side === "white" ? 0 : 1] ?? t(side);
export const clockOf = (seconds) => (seconds == null ? "" : clockText(seconds * 1000));

const main = document.getElementById("main");
const title = document.getElementById("title")?.firstChild;
const cards = new Map();
let single = null;

function player(side) {
  const [name, clock] = [h("span", { class: "name" }), h("span", { class: "clock" })];
  return { name, clock, element: h("p", { class: `player ${side}` }, h("span", { class: "dot", "aria-hidden": "true" }), name, clock) };
}

class Card {
  constructor(number) {
    this.board = new Board();
    this.head = h("h2");
    this.state = h("span", { class: "state" });
    this.move = h("p", { class: "move" });
    this.sides = { black: player("black"), white: player("white") };
    this.element = h("a", { class: "card", href: `#${number}` }, h("div", { class: "head" }, this.head, this.state),
      this.sides.black.element, this.board.element, this.sides.white.element, this.move);
  }

  show(game) {
    say(this.head, word("number", { n: game.number }));
    say(this.state, game.result !== "*" ? game.result : game.live ? word("live") : "");
    say(this.move, game.last ?? "");
    showSides(this.sides, game);
    this.board.show({ placement: game.placement, last: game.uci, label: described(game.placement) });
  }
}

function showSides(sides, game, clocks = game.clocks) {
  for (const [i, side] of ["white", "black"].entries()) {
    say(sides[side].name, nameOf(game, side));
    say(sides[side].clock, clockOf(clocks[i]));
  }
}

class Single {
  #moves = "";

  constructor(number) {
    this.number = number;
    this.at = null;
    this.board = new Board({ coordinates: true });
    this.sides = { black: player("black"), white: player("white") };
    this.head = h("h2");
    this.list = h("ol", { class: "moves", tabindex: "0", "aria-label": word("moves") });
    this.note = h("p", { class: "note" });
    this.element = h("section", { class: "single" },
      h("p", {}, h("a", { href: "#" }, `← ${word("back")}`)), this.head,
      h("div", { class: "columns" },
        h("div", {}, this.sides.black.element, this.board.element, this.sides.white.element),
        h("div", {}, this.list, this.note, h("p", { class: "note" }, word("step")))));
  }

  async look() {
    const game = await fetched(`/api/game/${this.number}`);
    if (single !== this) return;
    this.game = game;
    this.show();
  }

  show() {
    const { game } = this;
    if (!game) return;
    const count = game.moves.length;
    const at = Math.min(this.at ?? count, count);
    const made = game.moves[at - 1];
    say(this.head, `${word("number", { n: game.number })}${game.result === "*" ? "" : ` · ${game.result}`}`);
    const clocks = [0, 1].map((side) => {
      const own = game.moves.slice(0, at).filter((move) => (move.number.endsWith("...") ? 1 : 0) === side && move.clock != null);
      return own.at(-1)?.clock ?? null;
    });
    showSides(this.sides, game, clocks);
    const placement = made?.placement ?? game.start;
    this.board.show({ placement, last: made?.uci ?? null, label: described(placement) });
    const moves = JSON.stringify(game.moves);
    if (moves !== this.#moves) {
      this.#moves = moves;
      this.list.replaceChildren(...game.moves.map((move, i) => h("li", {},
        h("button", { type: "button", onclick: () => this.go(i + 1) },
          move.number.endsWith("...") && i ? move.san : `${move.number} ${move.san}`, h("small", {}, ` ${clockOf(move.clock)}`)))));
    }
    [...this.list.children].forEach((item, i) => item.classList.toggle("here", i === at - 1));
    say(this.note, game.note ?? "");
  }

  /** To a half-move; the last one is followed as the game goes on. */
  go(at) {
    const count = this.game?.moves.length ?? 0;
    this.at = at >= count ? null : Math.max(0, at);
    this.show();
  }
}

function showRound(round) {
  say(title, round.event ?? word("games"));
  document.title = round.event ?? word("games");
  if (single) return;
  const elements = round.games.map((game) => {
    if (!cards.has(game.number)) cards.set(game.number, new Card(game.number));
    const card = cards.get(game.number);
    card.show(game);
    return card.element;
  });
  if (!elements.length) elements.push(h("p", {}, word("waiting")));
  if (elements.some((element, i) => main.children[0]?.children[i] !== element)) {
    main.replaceChildren(h("div", { class: "grid" }, elements));
  }
}

async function look() {
  try {
    const [round] = await Promise.all([fetched("/api/round"), single?.look()]);
    showRound(round);
    say(document.getElementById("away"), "");
  } catch {
    say(document.getElementById("away"), word("away"));
  }
}

function route() {
  const number = Number(location.hash.slice(1));
  single = number > 0 ? new Single(number) : null;
  main.replaceChildren(...(single ? [single.element] : []));
  look();
}

// The overlay shares what is above, not the page.
if (title) {
  document.documentElement.lang = language;
  addEventListener("hashchange", () => {
    route();
    main.focus({ preventScroll: true });
  });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!single?.game || !step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    single.go((single.at ?? single.game.moves.length) + step);
  });
  route();
  setInterval(look, EVERY_MS);
}
