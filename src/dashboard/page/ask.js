// Questions before anything is sent, and the gateways' answers in words.

import { fetched, h, say } from "./dom.js";
import { refusedText } from "./russian.js";
import { dayTime, seenMove, t } from "./words.js";

const dialog = document.getElementById("dialog");
/** The case that the question is about, and what was known of it when it was asked. */
let about = null;

/** A word on the edge of the page that goes away by itself. */
export function toast(text, kind = "") {
  const element = h("p", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), 9_000);
}

/** Who did something, in words. */
export const byWhom = ({ source, by }) => (source ? by ?? t("an_arbiter") : t("by_board"));

/** What is the matter, and what to do. */
export function errorText({ code, reason, message }) {
  const closed = code === "closed" && /closed already: (\w+) by (.*)$/.exec(message);
  if (closed) return t("error_closed", { how: t(closed[1]), by: closed[2] === "somebody before" ? t("an_arbiter") : closed[2] });
  const unplayed = refusedMove({ code, message });
  if (unplayed) return t("error_no_move", { n: unplayed.ply, move: unplayed.name });
  return refusedText({ code, reason, message });
}

/** The half-move that a correction could not play: its number and name; none where it was something else. */
export function refusedMove({ code, message }) {
  const found = code === "no_such_move" && /half-move (\d+), ([^,]*),/.exec(message);
  if (!found) return null;
  return { ply: Number(found[1]), name: /^[a-h][1-8][a-h][1-8]/.test(found[2]) ? seenMove(found[2]).split(" ")[0] : found[2] };
}

/** The newest event of each board that came of our own commands: the page may show it a moment later. */
const caused = new Map();

/** Sends a command and says when it is done; the error where it was refused. Where `known` has its code, the
 * caller says what to do about it. */
export async function command(board, verb, fields, { known = [], quiet = false } = {}) {
  const key = `${board.gateway}/${board.board}`;
  if (fields.expect_seq != null) fields = { ...fields, expect_seq: Math.max(fields.expect_seq, caused.get(key) ?? 0) };
  let reply;
  try {
    const body = JSON.stringify({ gateway: board.gateway, board: board.board, verb, fields });
    reply = await fetched("/api/command", { method: "POST", headers: { "content-type": "application/json" }, body });
  } catch (error) {
    reply = { ok: false, error: { code: "page", message: String(error.message ?? error) } };
  }
  // A gateway of an older version does not know what was seen.
  if (!reply.ok && fields.expect_seq != null && reply.error.code === "bad_fields") {
    const { expect_seq, ...rest } = fields;
    return command(board, verb, rest, { known, quiet });
  }
  if (!reply.ok) {
    if (!known.includes(reply.error.code)) toast(errorText(reply.error), "bad");
    return reply.error;
  }
  const seq = reply.state?.game?.last_seq;
  if (seq) caused.set(key, seq);
  if (!quiet) toast(t("done", { verb: t(verb === "raised_by" ? "raised" : verb).replace("…", ""), id: board.board }), "good");
  return null;
}

/** Sends a command about the round to a gateway; throws what a person can read. */
export async function askGateway(gateway, verb, fields) {
  const body = JSON.stringify({ gateway, verb, fields });
  const reply = await fetched("/api/round", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!reply.ok) throw Object.assign(new Error(reply.error.message), reply.error);
  return reply.state;
}

/** Asks before anything is sent. `fields` are elements with a name; the result is what they hold. The button says
 * what it does, and looks it where something is lost by it. `item` is the case that it is about; where `closes`
 * is set, the question is void when that was closed meanwhile. */
export function ask(title, explained, fields = [], { send = t("send"), danger = false, item = null, closes = false } = {}) {
  return new Promise((resolve) => {
    const primary = h("button", { type: "submit", value: "send", class: danger ? "primary danger" : "primary" }, send);
    const over = h("p", { class: "overtaken", role: "alert", hidden: true });
    const form = h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, title),
      explained ? h("p", {}, explained) : null,
      over,
      fields,
      h("div", { class: "buttons" },
        h("button", { type: "submit", value: "", class: "plain", formnovalidate: true }, t("cancel")),
        primary));
    dialog.setAttribute("aria-labelledby", "dialog-title");
    dialog.replaceChildren(form);
    dialog.returnValue = "";
    about = item && { item, over, primary, closes };
    dialog.onclose = () => {
      // The browser tells late of the question before: this one is still open then.
      if (dialog.open) return;
      about = null;
      resolve(dialog.returnValue === "send" ? Object.fromEntries(new FormData(form)) : null);
    };
    dialog.showModal();
    form.querySelector("select, input, textarea, .primary")?.focus();
  });
}

/** Somebody else was quicker: whoever is being asked about one of `cases` sees at once how it ended, and by whom. */
export function tellTheAsked(cases) {
  if (!dialog.open || !about) return;
  const now = cases.find((item) => item.id === about.item.id);
  if (!now || (now.open === about.item.open && now.how === about.item.how)) return;
  const last = now.journal.findLast((entry) => ["ended", "reopened"].includes(entry.what));
  if (!last) return;
  const how = now.how ? t(now.how) : t("j_reopened");
  say(about.over, t("overtaken", { how, by: byWhom(last), time: dayTime(last.time) }));
  about.over.hidden = false;
  about.primary.disabled = about.closes;
}

/** A control with its name. */
export const field = (label, control) => h("label", { class: "field" }, h("span", {}, label), control);

/** A choice; where `chosen` is null nothing is preselected, and something must be. */
export function select(name, options, { chosen = options[0]?.[0] } = {}) {
  const open = chosen === null;
  return h("select", { name, required: open },
    open ? h("option", { value: "", selected: true, disabled: true }, t("choose")) : null,
    options.map(([value, text]) => h("option", { value, selected: !open && value === chosen }, text)));
}

/** A choice that nobody makes for an arbiter. */
export const choice = (name, options) => select(name, options, { chosen: null });

/** Words of a person. */
export const words = (name) => h("textarea", { name, rows: 2, maxlength: 500 });
