// The hall: a card for each board, those with an open irregularity first.

import { Board, described, differing } from "./board.js";
import { h, say } from "./dom.js";
import { ageText, byCases, mostUrgent } from "./sight.js";
import { pushText } from "./russian.js";
import { clockText, dayTime, moveName, t, told } from "./words.js";

export const keyOf = (board) => `${board.gateway}/${board.board}`;
const numeric = new Intl.Collator("en", { numeric: true });

/** Name of a board for people; the gateway only where there are several. */
export function titleOf(board, hall) {
  const name = t("board", { id: board.board });
  return hall.gateways.size > 1 ? `${name} · ${board.gateway}` : name;
}

/** Milliseconds on a clock now: it runs on between two messages. */
export function timesNow(board) {
  const clock = board.clock;
  if (!clock) return null;
  const since = board.online ? performance.now() - board.clockAt : 0;
  const left = (side) => clock[`${side}_ms`] - (clock.running === side ? since : 0);
  return { white: left("white"), black: left("black"), running: clock.running };
}

/** The last half-move as people write it. */
export function lastMove(board) {
  if (!board.plies) return "";
  return moveName(board.first_ply, board.plies - 1, { san: board.last_san, uci: board.last_uci });
}

export const hasResult = (board) => board.result != null && board.result !== "*";
const isPlaying = (board) => board.game != null && !hasResult(board);
/** What wants an arbiter; a suspicion alone does not ring. */
export const isSerious = (item) => !item.irregularity || item.irregularity.certainty !== "suspected";

/** Those that want somebody first, then by name. */
export function inOrder(boards) {
  return [...boards].sort((a, b) =>
    byCases(a, b) || numeric.compare(a.gateway, b.gateway) || numeric.compare(a.board, b.board));
}

/** What of a board wants somebody, in words: its most urgent case, else what its gateway asks. */
export function wantsText(board, first) {
  if (first) return first.irregularity ? told(first.irregularity).title : t(unknownYet(board));
  return board.asks ? t(`asks_${board.asks}`) : "";
}

/** How loudly it is said. */
export const wantsKind = (board) => (board.open.some(isSerious) ? " alert" : board.open.length || board.asks ? " doubt" : "");

/** What is said in place of what is not known of a board's past. */
export const unknownYet = (board) => ({ away: "asking_away", untold: "asking_untold" })[board.past] ?? "asking";

/** A push to lichess in a line: what it took and when, or why it takes nothing. */
function pushLine({ round, taken, error, games, refused }) {
  if (error) return t(taken ? "push_stuck" : "push_error", { round, error: pushText(error), time: dayTime(taken) });
  if (!taken) return t("push_begins", { round });
  const line = t("push_taken", { round, n: games, time: dayTime(taken) });
  return refused.length ? `${line} ${t("push_refused", { boards: refused.join(", ") })}` : line;
}

const FILTERS = {
  all: () => true,
  attention: (board) => board.open.length > 0 || Boolean(board.asks),
  playing: isPlaying,
  finished: hasResult,
};

/** Arrow keys go from card to card as the eye does. */
export function walk(list, event) {
  const cards = [...list.children];
  const i = cards.indexOf(document.activeElement);
  if (i < 0) return;
  const columns = cards.filter((card) => card.offsetTop === cards[0].offsetTop).length;
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
    const state = !board.gateway_online ? t("gateway_away") : !board.online ? t("away")
      : hasResult(board) ? board.result : board.game == null ? t("no_game") : "";
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
    const wrong = board.fen && board.placement && board.game != null && !hasResult(board) ? differing(board.fen, board.placement) : [];
    const placement = board.placement ?? board.fen;
    const label = [title, this.title.textContent, described(placement)].filter(Boolean).join(". ");
    this.board.show({ placement, last: board.last_uci, marked: wrong.length <= 8 ? wrong : [], label });
    const refused = board.lichess?.error;
    say(this.cast, refused ? t("push_card") : "");
    this.cast.title = refused ?? "";
    this.cast.hidden = !refused;
    say(this.move, lastMove(board) || (board.game == null ? "" : t("start")));
    say(this.moment, board.plies ? [t("half_move", { n: board.plies }), dayTime(board.last_time)].filter(Boolean).join(" · ") : "");
    this.tick(board);
  }

  tick(board) {
    const times = timesNow(board);
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
  filter = "all";
  words = "";

  constructor() {
    this.list = h("div", { class: "grid" });
    this.empty = h("p", { class: "empty" });
    this.chips = h("div", { class: "chips", role: "group" });
    this.search = h("input", { type: "search", oninput: () => { this.words = this.search.value.toLowerCase(); this.again?.(); } });
    this.casts = h("p", { class: "casts" });
    this.element = h("section", { class: "hall" }, h("div", { class: "filters" }, this.chips, this.search), this.list, this.empty, this.casts);
    this.list.addEventListener("keydown", (event) => walk(this.list, event));
  }

  show(hall) {
    this.again = () => this.show(hall);
    this.#showFilters(hall);
    const matches = (board) => !this.words
      || [board.board, board.gateway, ...board.players].some((text) => text?.toLowerCase().includes(this.words));
    const boards = inOrder(hall.boards.values()).filter((board) => FILTERS[this.filter](board) && matches(board));
    const cards = boards.map((board) => {
      let card = this.#cards.get(keyOf(board));
      if (!card) this.#cards.set(keyOf(board), (card = new Card()));
      if (card.shown !== board || card.language !== document.documentElement.lang || card.gateways !== hall.gateways.size) {
        card.show(board, hall);
        Object.assign(card, { shown: board, language: document.documentElement.lang, gateways: hall.gateways.size });
      }
      return card.element;
    });
    // Elements that stay where they are keep the focus.
    cards.forEach((card, i) => {
      if (this.list.children[i] !== card) this.list.insertBefore(card, this.list.children[i] ?? null);
    });
    while (this.list.children.length > cards.length) this.list.lastChild.remove();
    say(this.empty, cards.length ? "" : hall.boards.size ? t("nothing") : t("waiting"));
    this.empty.hidden = cards.length > 0;
    say(this.casts, hall.pushes.map(pushLine).join(" "));
    this.casts.classList.toggle("bad", hall.pushes.some((push) => push.error || push.refused.length));
    this.casts.hidden = !hall.pushes.length;
  }

  #showFilters(hall) {
    this.search.placeholder = t("find");
    this.search.setAttribute("aria-label", t("find"));
    this.chips.setAttribute("aria-label", t("show"));
    const boards = [...hall.boards.values()];
    for (const name of Object.keys(FILTERS)) {
      let chip = this.chips.querySelector(`[data-filter="${name}"]`);
      if (!chip) {
        chip = h("button", { class: "chip", type: "button", "data-filter": name, onclick: () => { this.filter = name; this.again(); } });
        this.chips.append(chip);
      }
      say(chip, `${t(name)} ${boards.filter(FILTERS[name]).length}`);
      chip.setAttribute("aria-pressed", String(this.filter === name));
    }
  }

  /** Clocks and ages run on. */
  tick(hall) {
    for (const [key, card] of this.#cards) {
      const board = hall.boards.get(key);
      if (board && card.element.isConnected && (board.clock?.running || card.case)) card.tick(board);
    }
  }
}
