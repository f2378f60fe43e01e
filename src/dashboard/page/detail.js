// One board from near by: what is open, how it stands, what an arbiter can say of its game.

import { giveForfeit, giveResult, newGame, report, retract, takeResultBack, takeRules } from "./answers.js";
import { tellTheAsked } from "./ask.js";
import { differing } from "./board.js";
import { caseLink, caseSection, dismissAll, figure, overSection } from "./cases.js";
import { Answers, Parts, fetched, h, place, say } from "./dom.js";
import { lock, lockNote } from "./lock.js";
import { ageText } from "./sight.js";
import { hasResult, isSerious, lastMove, timesNow, titleOf } from "./shown.js";
import { noticeText } from "./russian.js";
import { clockText, dayTime, nameOf, squaresOf, t, timeText } from "./words.js";

/** Whether the board still stands as it did when the irregularity was told: then it is not shown again. */
const standsStill = ({ irregularity }, board) =>
  irregularity && (!board.placement || !differing(irregularity.placement, board.placement).length);

const addressOf = (board, number, ply = "") => `#/game/${board.gateway}/${board.board}/${number}${ply === "" ? "" : `/${ply}`}`;

/** The half-moves of a game; each leads to `to(ply)`, by a link or by a button. */
export function moveList(game, to) {
  if (!game.moves.length) return h("p", { class: "muted" }, t("no_moves"));
  const list = h("ol", { class: "moves", tabindex: "0", "aria-label": t("moves") });
  let row;
  game.moves.forEach((move, i) => {
    const ply = game.first_ply + i;
    if (!row || ply % 2 === 0) {
      row = h("li", {}, h("span", { class: "number" }, `${Math.floor(ply / 2)}.`));
      if (ply % 2) row.append(h("span", {}, "…"));
      list.append(row);
    }
    row.append(to(i + 1, move.san ? [move.san] : [squaresOf(move.uci), " ", h("small", {}, t("illegal_mark"))], move.san ? "" : "illegal"));
  });
  return list;
}

/** The games of a board, each to be opened. */
function gameList(detail) {
  const line = (game) => h("li", {},
    h("a", { href: addressOf(detail, game.number) }, t("game_no", { n: game.number })),
    ` ${nameOf(game.players, 0)} – ${nameOf(game.players, 1)}`,
    h("span", { class: "muted" }, ` · ${t("half_moves", { n: game.plies })} · ${game.end?.result ?? (game.present ? t("goes_on") : t("no_result"))}`));
  const last = detail.games[0];
  const forfeit = !last || last.end || !last.present;
  const next = { number: Math.max(0, ...detail.games.map((game) => game.number)) + 1, players: detail.players };
  return h("section", { class: "games" }, h("h2", {}, t("games")),
    detail.games.length ? h("ul", { class: "plain" }, detail.games.map(line)) : h("p", { class: "muted" }, t("no_game")),
    forfeit ? h("p", {}, h("button", { type: "button", class: "small", "data-verb": "result", "data-act": "forfeit", onclick: () => giveForfeit(detail, next) }, t("forfeit"))) : null);
}

/** The batteries of board and clock, as far as they are told. */
function batterySection({ battery, clock_battery_low: clockLow }) {
  const low = battery && !battery.charging && battery.percent <= 15;
  return h("section", { class: "batteries" }, h("h2", {}, t("batteries")),
    battery ? h("p", { class: low ? "refused" : "muted" }, t(battery.charging ? "battery_charging" : "battery_board", { n: battery.percent })) : null,
    clockLow ? h("p", { class: "refused" }, t("battery_clock_low")) : null);
}

/** What lichess says of the game; `taken` is when it last took games. */
function pushSection({ error, moves, file }, taken) {
  return h("section", {}, h("h2", {}, t("broadcast")),
    h("p", { class: error ? "refused" : "muted" }, error ? t("push_game_refused", { error, file }) : t("push_game", { time: dayTime(taken), n: moves ?? "–" })));
}

function liveBoards(detail, placement, off) {
  const note = off.length ? t("squares_differ", { n: off.length, squares: off.join(", ") })
    : t(detail.game == null ? "no_game" : "as_recorded");
  return h("div", { class: "three single" },
    figure(t("live"), placement, { last: detail.last_uci, wrong: off.length <= 8 ? off : [], note }),
    off.length ? figure(t("record"), detail.fen, { last: detail.last_uci }) : null);
}

/** The page of one board. */
export class Detail {
  #parts = new Parts();
  #answers = new Answers();
  /** Cases that were open while this board was looked at. */
  #seen = new Set();

  constructor() {
    this.clocks = h("p", { class: "bigclocks" });
    this.body = h("div");
    this.aside = h("aside");
    this.head = h("div");
    this.locked = lockNote();
    this.element = h("section", { class: "detail" }, this.head, this.locked, h("div", { class: "columns" }, this.body, this.aside));
  }

  /** Fetches and shows; what is shown stays until the new is there. */
  async show(hall, key) {
    const known = hall.boards.get(key);
    if (this.key !== key) {
      this.#parts.clear();
      this.#seen.clear();
    }
    this.key = key;
    if (!known) return this.body.replaceChildren(h("p", { class: "empty" }, t("waiting")));
    const asked = this.#answers.ask();
    const detail = await fetched(`/api/board/${known.gateway}/${known.board}`).catch(() => null);
    if (detail && this.key === key && this.#answers.isNews(asked)) this.#draw(detail, hall);
  }

  #part(name, shows, make) {
    return this.#parts.part(name, [this.key, shows], make);
  }

  #draw(detail, hall) {
    this.detail = detail;
    const placement = detail.placement ?? detail.fen;
    const playing = detail.game != null;
    const off = !playing || hasResult(detail) ? [] : differing(detail.fen, placement);
    const title = titleOf(detail, hall);
    const { open } = detail;
    const game = detail.games.find((game) => game.present);
    tellTheAsked(detail.cases);
    const past = detail.cases.filter((item) => !open.some((other) => other.id === item.id));
    const taken = hall.pushes.find((push) => push.round === detail.lichess?.round)?.taken;
    const suspicions = open.filter((item) => !isSerious(item));
    open.forEach((item) => this.#seen.add(item.id));
    const over = past.filter((item) => this.#seen.has(item.id) && item.irregularity);
    place(this.head, [this.#part("head", [title, detail.players], () => h("div", {},
      h("p", { class: "back" }, h("a", { href: "#/" }, `← ${t("back")}`)),
      h("header", { class: "title" },
        h("h1", {}, title),
        h("p", { class: "versus" }, `${nameOf(detail.players, 0)} – ${nameOf(detail.players, 1)}`),
        this.clocks)))]);
    const asks = detail.asks ? [this.#part("asks", [detail.asks, game], () => this.#asking(detail, game))] : [];
    const cases = open.map((item) => this.#part(item.id, [item, detail.past], () => caseSection(item, detail)));
    const ends = over.map((item) => this.#part(`over ${item.id}`, item, () => overSection(item)));
    // A word is changed where it stands: the buttons below it stay.
    open.forEach((item, i) => {
      const caption = cases[i].querySelectorAll("figcaption")[1];
      if (caption) say(caption, t(standsStill(item, detail) ? "now" : "then"));
    });
    const live = open.length && open.every((item) => standsStill(item, detail)) ? [] : [this.#part("live", [placement, detail.fen, detail.last_uci, playing], () => liveBoards(detail, placement, off))];
    const buttons = this.#part("buttons", [game, suspicions, detail.moves, detail.rules_wait], () => this.#buttons(detail, game, suspicions));
    place(this.body, [...asks, ...cases, ...ends, ...live, buttons]);
    this.open = open;
    place(this.aside, [
      this.#part("moves", [detail.moves, detail.game], () => h("section", {}, h("h2", {}, t("moves")),
        moveList(detail, (ply, name, kind) => h("a", { class: kind, href: addressOf(detail, detail.game, ply) }, name)),
        playing ? h("p", {}, h("a", { class: "edit", href: addressOf(detail, detail.game) }, t("go_through"))) : null)),
      this.#part("games", [detail.games, detail.players], () => gameList(detail)),
      this.#part("past", [past, detail.past], () => h("section", { class: "past" }, h("h2", {}, t("cases")),
        past.length ? h("ul", { class: "plain" }, past.map(caseLink)) : null,
        detail.past !== "told" ? h("p", { class: "note unknown" }, t(`past_${detail.past}`))
          : past.length ? null : h("p", { class: "muted" }, t("no_cases")))),
      ...(detail.battery || detail.clock_battery_low ? [this.#part("batteries", [detail.battery, detail.clock_battery_low], () => batterySection(detail))] : []),
      ...(detail.lichess ? [this.#part("push", [detail.lichess, taken], () => pushSection(detail.lichess, taken))] : []),
      this.#part("notices", detail.notices, () => h("section", { hidden: !detail.notices.length }, h("h2", {}, t("notices")),
        h("ul", { class: "plain muted" }, detail.notices.slice(0, 8).map((notice) => h("li", {}, `${timeText(notice.time)} ${noticeText(notice)}`))))),
    ]);
    lock(this.element, this.locked, detail, hall);
    this.tick(hall);
  }

  /** What the gateway asks about the game. */
  #asking(detail, game) {
    const act = (verb, run, label) => h("button", { type: "button", "data-verb": verb, onclick: () => run(detail, game) }, label);
    const isSetUp = detail.asks === "set_up_without_result";
    const toTheGame = () => h("a", { class: "button", href: addressOf(detail, detail.game) }, t("go_through"));
    const isOfPlay = ["gap_not_explained", "clock_stands"].includes(detail.asks);
    const answers = isOfPlay
      ? [toTheGame()]
      : [act("result", giveResult, t("result")),
        act("resume", takeResultBack, t(isSetUp ? "it_goes_on" : "resume")),
        isSetUp ? act("new_game", newGame, t("new_game")) : null];
    const isMated = detail.asks === "result_contradicts" && game?.end?.reason === "checkmate";
    const asks = isMated ? "mate_contradicted" : detail.asks;
    return h("section", { class: "asks", role: "status" },
      h("h2", {}, t(`asks_${asks}`)), h("p", {}, t(`asks_${asks}_what`, { result: game?.end?.result })),
      h("div", { class: "buttons" }, answers));
  }

  #buttons(detail, game, suspicions) {
    // Buttons that stay may be older than the board: a command is about what is seen now.
    const act = (verb, run) => h("button", { type: "button", "data-verb": verb, onclick: () => run(this.detail, game) }, t(verb));
    return h("div", { class: "buttons acts" },
      act("report", report),
      game ? act("result", giveResult) : null,
      game?.end ? act("resume", takeResultBack) : null,
      game && !game.end && detail.plies ? act("retract", retract) : null,
      game && detail.rules_wait ? act("rules", takeRules) : null,
      suspicions.length > 1 ? h("button", { type: "button", class: "danger", "data-verb": "dismiss", "data-act": "all", onclick: () => dismissAll(detail, suspicions) }, t("dismiss_all", { n: suspicions.length })) : null);
  }

  tick(hall) {
    const board = hall.boards.get(this.key);
    if (!board) return;
    const now = timesNow(board);
    const runs = (side) => (now.running === side ? "▸ " : "");
    const text = now ? `${runs("white")}${clockText(now.white)} – ${clockText(now.black)}${now.running === "black" ? " ◂" : ""}` : t("no_clock");
    const last = lastMove(board);
    for (const item of this.open ?? []) {
      const age = this.body.querySelector(`[data-case="${CSS.escape(item.id)}"] .age`);
      if (age) say(age, ageText(item));
    }
    say(this.clocks, [text, last, hasResult(board) ? board.result.replaceAll("-", "‑") : ""].filter(Boolean).join(" · "));
  }
}
