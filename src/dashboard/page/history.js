// All irregularities of the round, and the report of one for the file.

import { fetched, h } from "./dom.js";
import { facts, threeBoards } from "./detail.js";
import { dayText, dayTime, isReported, seenMove, t, timeText, told } from "./words.js";

const isOpen = (item) => item.how == null;

/** The list with its filters. */
export class History {
  #board = "";
  #kind = "";
  #status = "";
  #day = "";
  #shown = "";
  #unknown = [];

  constructor() {
    this.element = h("section", { class: "history" });
  }

  async show(hall) {
    const cases = await fetched("/api/cases").catch(() => null);
    const unknown = [...hall.boards.values()].filter((board) => board.past !== "told").map((board) => board.board);
    const shown = JSON.stringify([cases, unknown, document.documentElement.lang]);
    if (!cases || shown === this.#shown) return;
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
      && (!this.#status || (this.#status === "open") === isOpen(item)));
    const focus = document.activeElement?.getAttribute("aria-label");
    this.element.replaceChildren(
      h("h1", {}, t("history")),
      h("div", { class: "filters" },
        choice(t("board", { id: "" }), this.#board, [["", t("every_board")], ...boards.map((id) => [id, id])], (value) => { this.#board = value; }),
        choice(t("what"), this.#kind, [["", t("every_kind")], ...kinds.map((kind) => [kind, kindName(kind)])], (value) => { this.#kind = value; }),
        choice(t("status"), this.#status, [["", t("every_status")], ["open", t("open")], ["closed", t("closed")]], (value) => { this.#status = value; }),
        days.length > 1 ? choice(t("day"), this.#day, [["", t("every_day")], ...days.map((day) => [day, day])], (value) => { this.#day = value; }) : null),
      ...(this.#unknown.length ? [h("p", { class: "note unknown" }, t("past_hall", { boards: this.#unknown.join(", ") }))] : []),
      shown.length ? this.#table(shown) : h("p", { class: "empty" }, t("nothing")));
    if (focus) this.element.querySelector(`[aria-label="${CSS.escape(focus)}"]`)?.focus();
  }

  #table(cases) {
    const row = (item) => h("tr", { class: isOpen(item) ? "open" : "" },
      h("td", {}, timeText(item.time, item.t)),
      h("td", {}, h("a", { href: `#/board/${item.gateway}/${item.board}` }, item.board)),
      h("td", {}, h("a", { href: `#/report/${item.id}` }, told(item.irregularity).title)),
      h("td", {}, h("span", { class: `badge ${item.irregularity.certainty}` }, t(item.irregularity.certainty))),
      h("td", {}, item.how ? t(item.how) : t("open")));
    const head = [t("when"), t("board", { id: "" }), t("what"), "", t("status")];
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("history") },
      h("table", {},
        h("thead", {}, h("tr", {}, head.map((text) => (text ? h("th", { scope: "col" }, text) : h("td"))))),
        h("tbody", {}, cases.map(row))));
  }
}

/** One irregularity on one sheet. */
export class Report {
  constructor() {
    this.element = h("article", { class: "report" });
  }

  async show(id) {
    const [gateway, board] = id.split("/");
    const detail = await fetched(`/api/board/${gateway}/${board}`).catch(() => null);
    const item = detail?.cases.find((item) => item.id === id);
    if (!item?.irregularity) {
      return this.element.replaceChildren(h("p", { class: "empty" }, detail ? t("nothing") : "…"));
    }
    const words = told(item.irregularity);
    const row = (name, value) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []);
    const same = item.game === detail.game;
    const players = `${detail.players[0] ?? t("white")} – ${detail.players[1] ?? t("black")}`;
    const line = (label) => h("p", { class: "line" }, label);
    this.element.replaceChildren(
      h("p", { class: "screen" }, h("a", { href: `#/board/${gateway}/${board}` }, `← ${t("board", { id: board })}`), " ",
        h("button", { type: "button", class: "primary", onclick: () => window.print() }, t("print"))),
      h("h1", {}, t("report_head")),
      h("dl", { class: "facts" },
        row(t("report_game"), [t("board", { id: board }), gateway, t("report_no", { n: item.game ?? "–" }), same && players].filter(Boolean).join(" · ")),
        row(t("report_time"), item.time ? `${dayText(item.time)}, ${dayTime(item.time)}` : timeText(null, item.t)),
        row(t("report_version"), item.id),
        row(t("report_found"), `${t(isReported(item.irregularity) ? "report_person" : "report_by")} ${t(item.irregularity.certainty)}.`)),
      h("h2", {}, words.title),
      h("p", { class: "advice" }, words.advice),
      threeBoards(item.irregularity),
      facts(item),
      ...(same ? [h("h2", {}, t("report_so_far")), h("p", { class: "sofar" }, movesText(detail, item.irregularity.ply))] : []),
      h("h2", {}, t("report_decision")),
      line(""), line(""), line(`${t("report_sign")}:`));
  }
}

/** The moves before the half-move concerned, in one paragraph. */
function movesText(detail, ply) {
  const parts = [];
  detail.moves.slice(0, Math.max(0, ply - 1)).forEach((move, i) => {
    const number = detail.first_ply + i;
    if (number % 2 === 0) parts.push(`${Math.floor(number / 2)}.`);
    else if (i === 0) parts.push(`${Math.floor(number / 2)}…`);
    parts.push(move.san ?? seenMove(move.uci));
  });
  return parts.join(" ") || t("no_moves");
}
