// One board from near by: before, now, as it should stand; what the Laws say; the arbiter's answers.

import { Board, described, differing } from "./board.js";
import { fetched, h, say } from "./dom.js";
import { lock, lockNote } from "./lock.js";
import { ageText } from "./sight.js";
import { hasResult, lastMove, timesNow, titleOf, unknownYet } from "./grid.js";
import { REPORTS, clockText, dayTime, reportName, squaresOf, t, timeText, told } from "./words.js";

const dialog = document.getElementById("dialog");

/** A word on the edge of the page that goes away by itself. */
export function toast(text, kind = "") {
  const element = h("p", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), 9_000);
}

/** Sends a command; the gateway's answer is shown in words. */
async function command(board, verb, fields) {
  try {
    const body = JSON.stringify({ gateway: board.gateway, board: board.board, verb, fields });
    const reply = await fetched("/api/command", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (reply.ok) toast(t("done", { verb: t(verb === "raised_by" ? "raised" : verb), id: board.board }), "good");
    else toast(t("refused", reply.error), "bad");
  } catch (error) {
    toast(String(error.message ?? error), "bad");
  }
}

/** Asks before anything is sent. `fields` are elements with a name; the result is what they hold. The button says
 * what it does, and looks it where something is lost by it. */
export function ask(title, explained, fields = [], { send = t("send"), danger = false } = {}) {
  return new Promise((resolve) => {
    const form = h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, title),
      explained ? h("p", {}, explained) : null,
      fields,
      h("div", { class: "buttons" },
        h("button", { type: "submit", value: "", class: "plain", formnovalidate: true }, t("cancel")),
        h("button", { type: "submit", value: "send", class: danger ? "primary danger" : "primary" }, send)));
    dialog.setAttribute("aria-labelledby", "dialog-title");
    dialog.replaceChildren(form);
    dialog.returnValue = "";
    dialog.onclose = () => {
      // The browser tells late of the question before: this one is still open then.
      if (!dialog.open) resolve(dialog.returnValue === "send" ? Object.fromEntries(new FormData(form)) : null);
    };
    dialog.showModal();
    form.querySelector("select, input, .primary")?.focus();
  });
}

const field = (label, control) => h("label", { class: "field" }, h("span", {}, label), control);
const select = (name, options) => h("select", { name }, options.map(([value, text]) => h("option", { value }, text)));

async function confirmed(board, verb, fields, title) {
  const name = verb === "raised_by" ? "raised" : verb;
  const answer = await ask(`${t(name)}: ${t("board", { id: board.board })}`, `${title}. ${t(`${name}_what`)}`, [],
    { send: t(`${name}_button`), danger: verb === "dismiss" });
  if (answer) await command(board, verb, fields);
}

async function report(board) {
  const kinds = Object.keys(REPORTS).map((kind) => [kind, reportName(kind)]);
  const sides = [["", t("unclear")], ["white", t("white")], ["black", t("black")]];
  const answer = await ask(t("report_title", { id: board.board }), null,
    [field(t("report_kind"), select("kind", kinds)), field(t("report_who"), select("offender", sides))]);
  if (!answer) return;
  const fields = { kind: answer.kind };
  if (answer.offender) fields.offender = answer.offender;
  await command(board, "report", fields);
}

async function result(board) {
  const results = ["1-0", "0-1", "1/2-1/2", "*"].map((text) => [text, text]);
  const answer = await ask(t("result_title", { id: board.board }), null, [field(t("result"), select("result", results))]);
  if (answer) await command(board, "result", { result: answer.result });
}

async function retract(board) {
  const input = h("input", { type: "number", name: "to_ply", min: 0, max: board.plies, value: Math.max(0, board.plies - 1), required: true });
  const answer = await ask(t("retract_title", { id: board.board }), null, [field(t("half_move", { n: "" }), input)]);
  if (answer) await command(board, "retract", { to_ply: Number(answer.to_ply) });
}

/** A small table of two times. */
function times(clock) {
  if (!clock) return null;
  return h("span", { class: "times" }, `${t("white")} ${clockText(clock.white_ms)} · ${t("black")} ${clockText(clock.black_ms)}`);
}

function penaltyText(penalty) {
  const side = penalty.to ? t(`to_${penalty.to}`) : "";
  return t(`penalty_${penalty.kind}`, { s: penalty.seconds, side, to: side });
}

function figure(caption, placement, options = {}) {
  const board = new Board({ coordinates: true });
  board.show({ placement, label: `${caption}. ${described(placement)}`, ...options });
  return h("figure", {}, h("figcaption", {}, caption), board.element, options.note ? h("p", { class: "note" }, options.note) : null);
}

/** Three boards of an irregularity. */
export function threeBoards(irregularity) {
  const target = irregularity.ruling.target_fen;
  const { fen_before: before, placement: then, squares } = irregularity;
  const off = differing(target ?? before, then);
  const note = off.length ? t("squares_differ", { n: off.length, squares: off.join(", ") }) : t("as_recorded");
  return h("div", { class: "three" },
    figure(t("before"), before, { marked: squares }),
    figure(t("then"), then, { wrong: off, note }),
    target ? figure(t("should"), target, { marked: off }) : null);
}

/** What there is to know of a case, as rows of a table. */
export function facts(item) {
  const it = item.irregularity;
  const row = (name, value) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []);
  return h("dl", { class: "facts" },
    row(t("articles"), it.ruling.articles.length ? it.ruling.articles.join(", ") : it.articles.join(", ")),
    row(t("penalty"), penaltyText(it.ruling.penalty)),
    row(t("times"), times(it.ruling.clock_proposal)),
    row(t("times_else"), times(it.ruling.clock_alternative)),
    row(t("times_then"), times(it.clock)),
    row(t("status"), item.how ? t(item.how) : t("open")));
}

function badge(irregularity) {
  return h("span", { class: `badge ${irregularity.certainty}` }, t(irregularity.certainty));
}

/** Whether the board still stands as it did when the irregularity was told: then it is not shown again. */
const standsStill = ({ irregularity }, board) =>
  irregularity && (!board.placement || !differing(irregularity.placement, board.placement).length);

function caseSection(item, board) {
  const it = item.irregularity;
  if (!it) return h("section", { class: "case" }, h("p", {}, t(unknownYet(board))));
  const words = told(it);
  const button = (verb, fields, kind = "") =>
    h("button", { type: "button", class: kind, "data-verb": verb, onclick: () => confirmed(board, verb, fields, words.title) }, t(`${verb === "raised_by" ? "raised" : verb}_button`));
  const id = { irregularity: item.id };
  return h("section", { class: `case ${it.certainty}`, "data-case": item.id },
    h("header", {}, h("h2", {}, words.title), badge(it)),
    h("p", { class: "moment muted" }, [t("half_move", { n: it.ply }), timeText(item.time, item.t), h("span", { class: "age" })].flatMap((part, i) => (i ? [" · ", part] : [part]))),
    h("div", { class: "ruling" },
      h("div", {},
        h("p", { class: "advice" }, words.advice),
        it.ruling.provisional ? h("p", { class: "note" }, t("provisional")) : null,
        item.amended ? h("p", { class: "note" }, t("amended")) : null),
      facts(item)),
    threeBoards(it),
    h("div", { class: "buttons" },
      button("accept", id),
      button("raised_by", { ...id, by: "opponent" }),
      button("dismiss", id, "danger"),
      h("a", { class: "button", href: `#/report/${item.id}` }, t("print"))));
}

function moveList(detail) {
  if (!detail.moves.length) return h("p", { class: "muted" }, t("no_moves"));
  const list = h("ol", { class: "moves", tabindex: "0", "aria-label": t("moves") });
  let row;
  detail.moves.forEach((move, i) => {
    const ply = detail.first_ply + i;
    if (!row || ply % 2 === 0) {
      row = h("li", {}, h("span", { class: "number" }, `${Math.floor(ply / 2)}.`));
      if (ply % 2) row.append(h("span", {}, "…"));
      list.append(row);
    }
    row.append(move.san ? h("span", {}, move.san)
      : h("span", { class: "illegal" }, squaresOf(move.uci), " ", h("small", {}, t("illegal_mark"))));
  });
  return list;
}

function caseLink(item) {
  const title = item.irregularity ? told(item.irregularity).title : item.id;
  return h("li", {}, h("a", { href: `#/report/${item.id}` }, title),
    h("span", { class: "muted" }, ` ${timeText(item.time, item.t)} · ${item.how ? t(item.how) : t("open")}`));
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

/** Makes `children` the children of an element; those that are there already are not touched. */
function place(element, children) {
  children.forEach((child, i) => {
    if (element.children[i] !== child) element.insertBefore(child, element.children[i] ?? null);
  });
  while (element.children.length > children.length) element.lastChild.remove();
}

/** The page of one board. */
export class Detail {
  #parts = new Map();

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
    if (this.key !== key) this.#parts.clear();
    this.key = key;
    if (!known) return this.body.replaceChildren(h("p", { class: "empty" }, t("waiting")));
    const detail = await fetched(`/api/board/${known.gateway}/${known.board}`).catch(() => null);
    if (detail && this.key === key) this.#draw(detail, hall);
  }

  /** An element that is made anew only when what it shows has changed: nobody's finger misses a
   * button because a clock ran on. */
  #part(name, shows, make) {
    const key = JSON.stringify([document.documentElement.lang, this.key, shows]);
    const known = this.#parts.get(name);
    if (known?.key === key) return known.element;
    const element = make();
    this.#parts.set(name, { key, element });
    return element;
  }

  #draw(detail, hall) {
    const placement = detail.placement ?? detail.fen;
    const playing = detail.game != null;
    const off = !playing || hasResult(detail) ? [] : differing(detail.fen, placement);
    const title = titleOf(detail, hall);
    const { open } = detail;
    const past = detail.cases.filter((item) => !open.some((other) => other.id === item.id));
    const taken = hall.pushes.find((push) => push.round === detail.lichess?.round)?.taken;
    const act = (verb, run) => h("button", { type: "button", "data-verb": verb, onclick: () => run(detail) }, t(verb));
    place(this.head, [this.#part("head", [title, detail.players], () => h("div", {},
      h("p", { class: "back" }, h("a", { href: "#/" }, `← ${t("back")}`)),
      h("header", { class: "title" },
        h("h1", {}, title),
        h("p", { class: "versus" }, `${detail.players[0] ?? t("white")} – ${detail.players[1] ?? t("black")}`),
        this.clocks)))]);
    const cases = open.map((item) => this.#part(item.id, [item, detail.past], () => caseSection(item, detail)));
    // A word is changed where it stands: the buttons below it stay.
    open.forEach((item, i) => {
      const caption = cases[i].querySelectorAll("figcaption")[1];
      if (caption) say(caption, t(standsStill(item, detail) ? "now" : "then"));
    });
    const live = open.length && open.every((item) => standsStill(item, detail)) ? [] : [this.#part("live", [placement, detail.fen, detail.last_uci, playing], () => liveBoards(detail, placement, off))];
    const buttons = this.#part("buttons", [detail.game, detail.plies > 0], () => h("div", { class: "buttons" },
      act("report", report), playing ? act("result", result) : null,
      playing && detail.plies ? h("button", { type: "button", "data-verb": "retract", onclick: () => retract(hall.boards.get(this.key) ?? detail) }, t("retract")) : null));
    place(this.body, [...cases, ...live, buttons]);
    this.open = open;
    lock(this.body, this.locked, detail, hall);
    place(this.aside, [
      this.#part("moves", detail.moves, () => h("section", {}, h("h2", {}, t("moves")), moveList(detail))),
      this.#part("past", [past, detail.past], () => h("section", { class: "past" }, h("h2", {}, t("cases")),
        past.length ? h("ul", { class: "plain" }, past.map(caseLink)) : null,
        detail.past !== "told" ? h("p", { class: "note unknown" }, t(`past_${detail.past}`))
          : past.length ? null : h("p", { class: "muted" }, t("no_cases")))),
      ...(detail.lichess ? [this.#part("push", [detail.lichess, taken], () => pushSection(detail.lichess, taken))] : []),
      this.#part("notices", detail.notices, () => h("section", { hidden: !detail.notices.length }, h("h2", {}, t("notices")),
        h("ul", { class: "plain muted" }, detail.notices.slice(0, 8).map((notice) => h("li", {}, `${timeText(notice.time)} ${notice.text}`))))),
    ]);
    this.tick(hall);
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
