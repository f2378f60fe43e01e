// All irregularities of the round, and the report of one for the file.

import { tellTheAsked } from "./ask.js";
import { answersTo, facts, journal, statusOf, threeBoards } from "./cases.js";
import { Answers, fetched, h } from "./dom.js";
import { lock, lockNote } from "./lock.js";
import { dayText, dayTime, moveName, nameOf, t, timeText, told } from "./words.js";

/** So many boards are named of which not everything is known. */
const NAMED = 20;

/** The list with its filters. */
export class History {
  #board = "";
  #kind = "";
  #status = "";
  #day = "";
  #shown = "";
  #unknown = [];
  #answers = new Answers();

  constructor() {
    this.element = h("section", { class: "history" });
  }

  async show(hall) {
    const asked = this.#answers.ask();
    const cases = await fetched("/api/cases").catch(() => null);
    const unknown = [...hall.boards.values()].filter((board) => board.past !== "told").map((board) => board.board);
    const shown = JSON.stringify([cases, unknown, document.documentElement.lang]);
    if (!cases || !this.#answers.isNews(asked) || shown === this.#shown) return;
    this.#shown = shown;
    this.#unknown = unknown;
    this.#draw(cases.filter((item) => item.irregularity));
  }

  #draw(cases) {
    const unique = (values) => [...new Set(values)].sort(new Intl.Collator("en", { numeric: true }).compare);
    const choice = (label, now, options, change) =>
      h("select", { "aria-label": label, onchange: (event) => { change(event.target.value); this.#draw(cases); } },
        options.map(([value, text]) => h("option", { value, selected: value === now }, text)));
    const boards = unique(cases.map((item) => `${item.gateway}/${item.board}`));
    const days = [...new Set(cases.map((item) => dayText(item.time)).filter(Boolean))];
    const kinds = unique(cases.map((item) => item.irregularity.kind));
    const kindName = (kind) => {
      const one = cases.find((item) => item.irregularity.kind === kind);
      return told(one.irregularity).title.split(":")[0];
    };
    const shown = cases.filter((item) =>
      (!this.#board || `${item.gateway}/${item.board}` === this.#board)
      && (!this.#day || dayText(item.time) === this.#day)
      && (!this.#kind || item.irregularity.kind === this.#kind)
      && (!this.#status || (this.#status === "open") === item.open));
    const focus = document.activeElement?.getAttribute("aria-label");
    this.element.replaceChildren(
      h("h1", {}, t("history")),
      h("div", { class: "filters" },
        choice(t("board", { id: "" }), this.#board, [["", t("every_board")], ...boards.map((id) => [id, id])], (value) => { this.#board = value; }),
        choice(t("what"), this.#kind, [["", t("every_kind")], ...kinds.map((kind) => [kind, kindName(kind)])], (value) => { this.#kind = value; }),
        choice(t("status"), this.#status, [["", t("every_status")], ["open", t("open")], ["closed", t("closed")]], (value) => { this.#status = value; }),
        days.length > 1 ? choice(t("day"), this.#day, [["", t("every_day")], ...days.map((day) => [day, day])], (value) => { this.#day = value; }) : null),
      ...(this.#unknown.length ? [h("p", { class: "note unknown" }, t("past_hall", { boards: this.#unknownBoards() }))] : []),
      shown.length ? this.#table(shown) : h("p", { class: "empty" }, t("nothing")));
    if (focus) this.element.querySelector(`[aria-label="${CSS.escape(focus)}"]`)?.focus();
  }

  #unknownBoards() {
    const more = this.#unknown.length - NAMED;
    return this.#unknown.slice(0, NAMED).join(", ") + (more > 0 ? ` … (+${more})` : "");
  }

  #table(cases) {
    const row = (item) => h("tr", { class: item.open ? "open" : "" },
      h("td", {}, timeText(item.time, item.t)),
      h("td", { "data-label": t("board", { id: "" }) }, h("a", { href: `#/board/${item.gateway}/${item.board}` }, item.board)),
      h("td", {}, h("a", { href: `#/report/${item.id}` }, told(item.irregularity).title)),
      h("td", {}, h("span", { class: `badge ${item.irregularity.certainty}` }, t(item.irregularity.certainty))),
      h("td", {}, statusOf(item)));
    const head = [t("when"), t("board", { id: "" }), t("what"), "", t("status")];
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("history") },
      h("table", {},
        h("thead", {}, h("tr", {}, head.map((text) => (text ? h("th", { scope: "col" }, text) : h("td"))))),
        h("tbody", {}, cases.map(row))));
  }
}

/** One irregularity on one sheet, also of an earlier game. */
export class Report {
  #shown = "";
  #answers = new Answers();

  constructor() {
    this.element = h("article", { class: "report" });
    this.locked = lockNote();
    this.acts = h("div", { class: "screen" });
    this.sheet = h("div");
    this.element.append(this.acts, this.sheet);
  }

  async show(hall, id) {
    const [gateway, board] = id.split("/");
    const asked = this.#answers.ask();
    const detail = await fetched(`/api/board/${gateway}/${board}`).catch(() => null);
    const item = detail?.cases.find((item) => item.id === id);
    const game = item?.game == null ? null : await fetched(`/api/game/${gateway}/${board}/${item.game}`).catch(() => null);
    const shown = JSON.stringify([id, item, game?.moves, document.documentElement.lang]);
    if (!this.#answers.isNews(asked) || (detail && shown === this.#shown)) return;
    this.#shown = shown;
    if (!item?.irregularity) {
      this.acts.replaceChildren();
      return this.sheet.replaceChildren(h("p", { class: "empty" }, detail ? t("nothing") : "…"));
    }
    tellTheAsked(detail.cases);
    this.acts.replaceChildren(
      h("p", { class: "ends" }, h("a", { href: `#/board/${gateway}/${board}` }, `← ${t("board", { id: board })}`), " ",
        h("button", { type: "button", class: "primary", onclick: () => window.print() }, t("print"))),
      this.locked,
      h("div", { class: "buttons" }, answersTo(item).filter(Boolean)));
    this.sheet.replaceChildren(...this.#parts(item, game, detail));
    lock(this.acts, this.locked, detail, hall);
  }

  #parts(item, game, detail) {
    const words = told(item.irregularity);
    const row = (name, value) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []);
    const players = `${nameOf(item.players, 0)} – ${nameOf(item.players, 1)}`;
    const line = (label) => h("p", { class: "line" }, label);
    const found = item.journal[0]?.source ? "report_person" : "report_by";
    const isDecided = item.journal.some((entry) => entry.source && entry.what !== "said");
    return [
      h("h1", {}, t("report_head")),
      h("dl", { class: "facts" },
        row(t("report_game"), [t("board", { id: item.board }), item.gateway, item.game == null ? null : this.#round(item, detail), players].filter(Boolean).join(" · ")),
        row(t("report_began"), item.began && `${dayText(item.began)}, ${dayTime(item.began)}`),
        row(t("report_time"), item.time ? `${dayText(item.time)}, ${dayTime(item.time)} · ${t("half_move", { n: item.irregularity.ply })}` : timeText(null, item.t)),
        row(t("report_version"), item.id),
        row(t("report_found"), `${t(found)} ${t(item.irregularity.certainty)}.`)),
      h("h2", {}, words.title),
      h("p", { class: "advice" }, words.advice),
      threeBoards(item.irregularity),
      facts(item),
      h("h2", {}, t("journal")), journal(item),
      ...(game ? [h("h2", {}, t("report_so_far")), h("p", { class: "sofar" }, movesText(game, item.irregularity.ply))] : []),
      h("h2", {}, t("report_decision")),
      ...(isDecided ? [] : [line(""), line("")]), line(`${t("report_sign")}:`),
    ];
  }

  /** The round, and which game of the day it was at this board: the same, where each board plays one game a round. */
  #round(item, detail) {
    const day = dayText(item.began);
    const before = detail.games.filter((game) => game.number <= item.game && day && dayText(game.began) === day);
    return [item.round == null ? null : t("round_no", { n: item.round }), t("report_no", { n: item.game }), before.length ? t("report_round", { n: before.length }) : null].filter(Boolean).join(", ");
  }
}

/** The moves before the half-move concerned, in one paragraph. */
function movesText(game, ply) {
  const made = game.moves.slice(0, Math.max(0, ply - 1));
  const name = (move, i) => {
    const full = moveName(game.first_ply, i, move);
    // Black's have no number, unless they come first.
    return (game.first_ply + i) % 2 && i ? full.replace(/^\d+…\s/, "") : full;
  };
  return made.map(name).join(" ") || t("no_moves");
}
