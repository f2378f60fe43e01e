// Irregularities: what happened, what the Laws say, the arbiter's answers, and who did what when.

import { ask, byWhom, choice, command, errorText, field, select, toast, words } from "./ask.js";
import { Board, described, differing } from "./board.js";
import { h } from "./dom.js";
import { isSerious, unknownYet } from "./shown.js";
import { clockText, dayTime, t, timeText, told } from "./words.js";

const PENALTIES = ["time", "loss", "draw", "arbiter"];

/** Open, or how it ended. */
export const statusOf = (item) => t(item.open ? "open" : item.how ?? "unanswered");

/** A small table of two times. */
function times(clock) {
  if (!clock) return null;
  return h("span", { class: "times" }, `${t("white")} ${clockText(clock.white_ms)} · ${t("black")} ${clockText(clock.black_ms)}`);
}

function penaltyText(penalty) {
  const side = penalty.to ? t(`to_${penalty.to}`) : "";
  return t(`penalty_${penalty.kind}`, { s: penalty.seconds, side, to: side });
}

export function figure(caption, placement, options = {}) {
  const board = new Board({ coordinates: true });
  board.show({ placement, label: `${caption}. ${described(placement)}`, ...options });
  return h("figure", {}, h("figcaption", {}, caption), board.element, options.note ? h("p", { class: "note" }, options.note) : null);
}

/** Three boards of an irregularity; one, where the pieces have nothing to do with it: the answers are in sight then. */
export function threeBoards(irregularity) {
  const target = irregularity.ruling.target_fen;
  const { fen_before: before, placement: then, squares } = irregularity;
  const off = differing(target ?? before, then);
  if (!target && !off.length) return h("div", { class: "three" }, figure(t("then"), then));
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
    row(t("given"), item.penalty && penaltyText(item.penalty)),
    row(t("times"), times(it.ruling.clock_proposal)),
    row(t("times_else"), times(it.ruling.clock_alternative)),
    row(t("times_then"), times(it.clock)),
    row(t("note"), it.note),
    row(t("status"), statusOf(item)));
}

const badge = ({ certainty }) => h("span", { class: `badge ${certainty}` }, t(certainty));

/** What was done, in words. */
function deed({ what, how, source, penalty, note }) {
  if (what === "said") return t(source ? "j_reported" : "j_found");
  if (what === "amended") return t("amended");
  if (what === "ended") return t(how);
  if (what === "reopened") return t(how ? "j_counts" : "j_reopened");
  const given = penalty && (penalty.kind === "none" ? t("j_penalty_undone") : t("j_penalty", { penalty: penaltyText(penalty) }));
  return [given, note && t("quoted", { words: note })].filter(Boolean).join(" · ");
}

/** Who did what when. */
export function journal(item) {
  return h("ol", { class: "journal", "aria-label": t("journal") },
    item.journal.map((entry) => h("li", {},
      h("span", { class: "muted" }, `${timeText(entry.time)} · ${byWhom(entry)}: `), deed(entry))));
}

/** The last word on how a case ended, and by whom. */
function ending(item) {
  const last = item.journal.findLast((entry) => entry.what === "ended");
  return [statusOf(item), last && dayTime(last.time), last && byWhom(last)].filter(Boolean).join(" · ");
}

// --- answers

async function confirmed(item, verb, fields) {
  const name = verb === "raised_by" ? "raised" : verb;
  const title = told(item.irregularity).title;
  const answer = await ask(`${t(name)}: ${t("board", { id: item.board })}`, `${title}. ${t(`${name}_what`)}`, [],
    { send: t(`${name}_button`), danger: verb === "dismiss", item, closes: true });
  if (answer) await command(item, verb, { irregularity: item.id, ...fields });
}

/** A penalty that was given. What the Laws prescribe is filled in; nothing is sent before somebody says so. */
async function givePenalty(item) {
  const { penalty } = item.irregularity.ruling;
  const offered = PENALTIES.map((kind) => [kind, t(`penalty_kind_${kind}`)]);
  const kind = penalty.kind === "none" ? choice("kind", offered) : select("kind", offered, { chosen: penalty.kind });
  const seconds = field(t("penalty_seconds"), h("input", { type: "number", name: "seconds", min: 1, max: 36_000, value: penalty.seconds || 120, required: true }));
  const to = field(t("penalty_to"), select("to", [["white", t("white")], ["black", t("black")]], { chosen: penalty.to ?? "white" }));
  const fit = () => {
    seconds.hidden = kind.value !== "time";
    seconds.lastChild.disabled = seconds.hidden;
    to.hidden = !["time", "loss"].includes(kind.value);
    to.lastChild.disabled = to.hidden;
  };
  kind.addEventListener("change", fit);
  fit();
  const answer = await ask(t("penalty_title", { id: item.board }), told(item.irregularity).title, [field(t("penalty"), kind), seconds, to, field(t("note"), words("note"))],
    { send: t("penalty_button"), item });
  if (!answer) return;
  const given = { kind: answer.kind, seconds: Number(answer.seconds ?? 0), to: answer.to ?? null };
  await note(item, given, answer.note);
}

async function takePenaltyBack(item) {
  const answer = await ask(t("unpenalty_title", { id: item.board }), `${told(item.irregularity).title}. ${penaltyText(item.penalty)}`, [field(t("note"), words("note"))],
    { send: t("unpenalty_button"), danger: true, item });
  if (answer) await note(item, { kind: "none", seconds: 0, to: null }, answer.note);
}

async function writeNote(item) {
  const text = words("note");
  text.required = true;
  const answer = await ask(t("note_title", { id: item.board }), told(item.irregularity).title, [field(t("note"), text)], { item });
  if (answer) await note(item, null, answer.note);
}

async function note(item, penalty, text) {
  const fields = { irregularity: item.id };
  if (penalty) fields.penalty = penalty;
  if (text.trim()) fields.note = text;
  await command(item, "note", fields);
}

/** Suspicions of a board, all at once. */
export async function dismissAll(board, items) {
  const answer = await ask(t("dismiss_all_title", { n: items.length, id: board.board }), t("dismiss_all_what"), [], { send: t("dismiss_all_button", { n: items.length }), danger: true });
  if (!answer) return;
  let done = 0;
  for (const item of items) {
    const error = await command(board, "dismiss", { irregularity: item.id }, { quiet: true, known: ["closed"] });
    if (error && error.code !== "closed") return toast(errorText(error), "bad");
    done += 1;
  }
  toast(t("dismiss_all_done", { n: done, id: board.board }), "good");
}

/** The buttons of a case; each says what it does. */
export function answersTo(item) {
  const verb = (name, fields = {}, kind = "") =>
    h("button", { type: "button", class: kind, "data-verb": name, onclick: () => confirmed(item, name, fields) }, t(`${name === "raised_by" ? "raised" : name}_button`));
  const act = (name, run) => h("button", { type: "button", "data-verb": "note", "data-act": name, onclick: () => run(item) }, t(name));
  const may = (is, button) => (is ? button() : null);
  return [
    may(item.open, () => verb("accept")),
    may(item.open && item.present && isSerious(item), () => verb("raised_by", { by: "opponent" })),
    may(!item.open && item.how, () => verb("reopen")),
    act("penalty_act", givePenalty),
    may(item.penalty, () => act("unpenalty_act", takePenaltyBack)),
    act("note_act", writeNote),
    may(item.how !== "dismissed", () => verb("dismiss", {}, "danger")),
  ];
}

/** An open case at its board. */
export function caseSection(item, board) {
  const it = item.irregularity;
  if (!it) return h("section", { class: "case" }, h("p", {}, t(unknownYet(board))));
  const words = told(it);
  return h("section", { class: `case ${it.certainty}`, "data-case": item.id },
    h("header", {}, h("h2", {}, words.title), badge(it)),
    h("p", { class: "moment muted" }, [item.present ? null : t("report_no", { n: item.game }), t("half_move", { n: it.ply }), timeText(item.time, item.t), h("span", { class: "age" })]
      .filter(Boolean).flatMap((part, i) => (i ? [" · ", part] : [part]))),
    h("div", { class: "ruling" },
      h("div", {},
        h("p", { class: "advice" }, words.advice),
        it.ruling.provisional ? h("p", { class: "note" }, t("provisional")) : null,
        item.amended ? h("p", { class: "note" }, t("amended")) : null,
        item.journal.length > 1 ? journal(item) : null),
      facts(item)),
    threeBoards(it),
    h("div", { class: "buttons" }, answersTo(item).filter(Boolean), h("a", { class: "button", href: `#/report/${item.id}` }, t("print"))));
}

/** A case that was closed while its board was looked at: how, by whom, and the way back. */
export function overSection(item) {
  return h("section", { class: "over", "data-over": item.id },
    h("h2", {}, told(item.irregularity).title),
    h("p", {}, ending(item)),
    h("div", { class: "buttons" }, answersTo(item).filter(Boolean), h("a", { class: "button", href: `#/report/${item.id}` }, t("print"))));
}

/** A closed case in a list. */
export function caseLink(item) {
  const title = item.irregularity ? told(item.irregularity).title : item.id;
  return h("li", {}, h("a", { href: `#/report/${item.id}` }, title),
    h("span", { class: "muted" }, ` ${timeText(item.time, item.t)} · ${ending(item)}`));
}
