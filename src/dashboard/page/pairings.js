// Rounds: pairings are pasted or taken from a file, looked through, shown and put in force; a round is closed.

import { ask, askGateway, field } from "./ask.js";
import { NextRound, openSeat, roundName } from "./begin.js";
import { h, say } from "./dom.js";
import { lockNote, obstacle } from "./lock.js";
import { canRenumber, renumber } from "./renumber.js";
import { HandResults } from "./results.js";
import { bindTables, tablesHear } from "./tables.js";
import { refusalText } from "./russian.js";
import { playerName, t } from "./words.js";

/** The dialog that is open. */
let present = null;

/** Bytes of pairings, at most: what a gateway takes. */
const MOST = 192 * 1024;

/** Rounds on lichess, each with or without the numbers of its games. */
const LICHESS = " *[A-Za-z0-9]{8}( +\\d+ *- *\\d+)? *(, *[A-Za-z0-9]{8}( +\\d+ *- *\\d+)? *)*";

/** In Cyrillic whole words are beyond ASCII; in western languages single letters among others are. */
function isCyrillic(bytes) {
  const isFar = (byte) => byte >= 0xc0 || byte === 0xa8 || byte === 0xb8;
  const isNear = (byte) => /[A-Za-z]/.test(String.fromCharCode(byte));
  let [far, near] = [0, 0];
  for (let i = 1; i < bytes.length; i++) {
    const [one, other] = [bytes[i - 1], bytes[i]];
    if (isFar(one) && isFar(other)) far += 1;
    else if ((isFar(one) && isNear(other)) || (isNear(one) && isFar(other))) near += 1;
  }
  return far > near;
}

/** Text of a file as pairing programs write it: UTF-8, UTF-16 where it says so, or what was there before. */
async function textOf(file) {
  const bytes = await file.arrayBuffer();
  const utf16 = { "255,254": "utf-16le", "254,255": "utf-16be" }[new Uint8Array(bytes).slice(0, 2).join()];
  if (utf16) return new TextDecoder(utf16).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(isCyrillic(new Uint8Array(bytes)) ? "windows-1251" : "windows-1252").decode(bytes);
  }
}

const told = (mistake) =>
  (mistake.line ? `${t("pairings_line", mistake)}: ` : "") + t(`pairings_${mistake.code}`, mistake);

function mistakes(title, found, kind) {
  if (!found.length) return null;
  return h("section", { class: kind }, h("h3", {}, title), h("ul", {}, found.map((mistake) => h("li", { "data-code": mistake.code }, told(mistake)))));
}

function seats(boards) {
  const row = ({ board, id, white, black }) => h("tr", {}, h("th", { scope: "row" }, id ?? t("hand_no_board", { game: board })), h("td", {}, playerName(white) || "–"), h("td", {}, playerName(black) || "–"));
  return h("table", { class: "seats" },
    h("thead", {}, h("tr", {}, ["pairings_board", "white", "black"].map((key) => h("th", { scope: "col" }, t(key))))),
    h("tbody", {}, boards.map(row)));
}

/** The dialog, made anew in the language of the page whenever it is opened. */
class Rounds {
  constructor(hall) {
    this.hall = hall;
    const gateways = [...hall.gateways.values()].filter((gateway) => gateway.online);
    const rounds = [...gateways, ...hall.own];
    const options = rounds.map(({ name }) => h("option", { value: name }, roundName(name)));
    // Nobody chooses one of several groups by opening the dialog.
    if (!gateways.length && hall.own.length > 1) options.unshift(h("option", { value: "" }, t("own_all")));
    this.gateway = h("select", { name: "gateway" }, options);
    const roundOf = () => rounds.find(({ name }) => name === this.gateway.value)?.round ?? 1;
    this.round = h("input", { name: "round", type: "number", min: 1, max: 99, value: roundOf(), required: true });
    this.gateway.addEventListener("input", () => {
      this.round.value = roundOf();
      this.next.choose();
    });
    this.text = h("textarea", { name: "text", rows: 8, spellcheck: "false", placeholder: "board,white,white_elo,black,black_elo" });
    this.file = h("input", { name: "file", type: "file", accept: ".csv,.txt,.trf,.trfx" });
    this.lichess = h("input", { name: "lichess", maxlength: 400, pattern: LICHESS, autocomplete: "off" });
    this.start = h("input", { name: "start", maxlength: 100, autocomplete: "off" });
    this.next = new NextRound(hall, () => this.gateway.value, (gateway) => this.#furtherOf(gateway), (...found) => this.#tell(...found));
    this.found = h("div", { class: "found", role: "status" });
    this.put = this.#button("pairings_put", "put", () => this.#put(), "primary");
    this.sends = [
      this.#button("bind", "bind", () => this.#bind()),
      this.#button("next_round", "next", () => this.#next(false)),
      this.#button("pairings_check", "check", () => this.#check()),
      this.put];
    this.results = this.#button("hand", "results", () => this.#results());
    this.renumber = this.#button("renumber", "renumber", () => this.#renumber());
    this.bar = h("div", { class: "buttons" },
      this.#button("pairings_close", "close", () => this.dialog.close()), this.results, this.renumber, this.sends, this.next.button);
    this.locked = lockNote();
    this.own = h("p", { class: "note own", role: "status" });
    this.dialog = h("dialog", { class: "rounds", "aria-labelledby": "rounds-title" },
      h("h2", { id: "rounds-title" }, t("pairings")),
      h("p", {}, t("pairings_what")),
      this.own,
      rounds.length > 1 ? field(t("pairings_gateway"), this.gateway) : null,
      field(t("pairings_round"), this.round),
      field(t("pairings_file"), this.file),
      field(t("pairings_text"), this.text),
      field(t("pairings_lichess"), this.lichess),
      field(t("pairings_start"), this.start),
      this.locked,
      this.found,
      this.bar);
    for (const control of [this.gateway, this.round, this.text, this.lichess, this.start]) control.addEventListener("input", () => this.#changed());
    this.file.addEventListener("change", async () => {
      const [file] = this.file.files;
      if (!file || this.#isTooLarge(file.size)) return;
      this.text.value = await textOf(file);
      await this.#check();
    });
    this.dialog.addEventListener("close", () => {
      this.dialog.remove();
      present = null;
    });
    this.#allow(false);
  }

  /** What can be sent now, and why nothing can. `fits` says whether what is there may be put in force. */
  #allow(fits) {
    this.fits = fits;
    const name = this.gateway.value;
    const obstructs = name ? obstacle("pairings", name, this.hall) : t("pairings_no_gateway");
    this.results.disabled = obstructs != null;
    // The page's own broadcasts have their pairings from their files.
    const why = obstructs ?? (name.startsWith("/") ? t("own_file") : null);
    for (const button of this.sends) button.disabled = why != null;
    this.put.disabled ||= !fits;
    this.renumber.disabled = !canRenumber(name, this.hall);
    this.next.look();
    this.locked.hidden = why == null;
    say(this.locked, why ?? "");
    // Of several groups that which is farthest behind.
    const round = Math.min(...this.hall.own.map(({ round }) => round));
    this.own.hidden = !this.hall.own.length;
    say(this.own, this.own.hidden ? "" : t("pairings_own", { round }));
  }

  /** The gateways, or what we may do, may be others now. */
  look() {
    this.#allow(this.fits);
  }

  open() {
    present = this;
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.text.focus();
  }

  #button(key, action, run, kind = "plain") {
    return h("button", { type: "button", class: kind, "data-action": action, onclick: run }, t(key));
  }

  /** Shows what came of it, also where the dialog is taller than the window. */
  #tell(...found) {
    this.found.replaceChildren(...found);
    // The bar lies over what is below the window.
    this.found.style.scrollMarginBottom = `${this.bar.offsetHeight}px`;
    this.found.scrollIntoView({ block: "nearest" });
  }

  /** What was looked through is another text. */
  #changed() {
    this.#allow(false);
    this.found.replaceChildren();
  }

  #fields() {
    return { text: this.text.value, round: Number(this.round.value), ...this.#further() };
  }

  /** What a round has besides its pairings. */
  #further() {
    const further = {};
    if (this.lichess.value) further.lichess = this.lichess.value;
    if (this.start.value) further.start = this.start.value;
    return further;
  }

  /** What the next round has at a gateway: a round on lichess is that of the one gateway which was chosen. */
  #furtherOf(gateway) {
    const { lichess, ...others } = this.#further();
    return gateway === this.gateway.value ? { lichess, ...others } : others;
  }

  /** Whoever took a wrong file hears it at once. */
  #isTooLarge(size) {
    if (size <= MOST) return false;
    this.#changed();
    this.#tell(h("p", { class: "refused", "data-code": "too_large" }, t("pairings_too_large", { kb: Math.ceil(size / 1024), most: MOST / 1024 })));
    return true;
  }

  async #ask(verb, fields) {
    try {
      return await askGateway(this.gateway.value, verb, fields);
    } catch (error) {
      this.#refused(error);
      return null;
    }
  }

  async #check() {
    const fields = this.#fields();
    if (this.#isTooLarge(new Blob([JSON.stringify(fields)]).size)) return;
    const state = await this.#ask("pairings", fields);
    // What was typed meanwhile was not looked through.
    if (!state || JSON.stringify(fields) !== JSON.stringify(this.#fields())) return;
    const { wrong, noted, refused, boards, games } = state;
    this.#tell(...[
      mistakes(t("pairings_wrong", { n: wrong.length }), wrong, "refused"),
      mistakes(t("pairings_noted"), noted, "note"),
      refused ? h("p", { class: "refused", "data-code": refused.code }, t(`pairings_${refused.code}`, refused)) : null,
      h("h3", {}, t("pairings_seats", { n: games })),
      seats(boards)].filter(Boolean));
    this.#allow(!wrong.length && refused == null);
  }

  async #put(back = false) {
    const state = await this.#ask("pairings", { ...this.#fields(), put: true, ...(back && { back }) });
    if (!state) return;
    if (!state.present) return this.#done(t("pairings_done", state));
    const button = h("button", { type: "button", class: "plain", "data-action": "back", onclick: () => this.#goBack(state) }, t("pairings_back", state));
    this.#done(t("pairings_put_right", state), h("div", { class: "buttons" }, button));
  }

  /** The present round was begun by mistake, and games have begun since. */
  async #goBack(rounds) {
    const answer = await ask(t("pairings_back_title", rounds), t("pairings_back_what", rounds), [], { send: t("pairings_back_button", rounds), danger: true });
    if (answer) await this.#put(true);
  }

  /** It is in force: what was looked through before was looked through with something else. */
  #done(text, ...more) {
    this.#allow(false);
    this.#tell(h("p", { class: "done" }, text), ...more);
  }

  async #bind() {
    try {
      await bindTables(this.gateway.value, this.hall, ({ bound }) => this.#done(t(bound ? "bind_done" : "bind_taken_back")));
    } catch (error) {
      this.#refused(error);
    }
  }

  async #renumber() {
    const answers = await renumber(this.gateway.value, this.hall);
    if (!answers) return;
    this.#allow(false);
    this.#tell(h("ul", { class: "answers" }, answers));
  }

  async #results() {
    const refused = (text) => this.#tell(h("p", { class: "refused" }, text));
    const results = new HandResults(this.gateway.value, refused);
    if (await results.ask()) this.#tell(results.element);
  }

  #refused(error) {
    this.#tell(h("p", { class: "refused" }, refusalText({ code: error.code ?? "page", message: String(error.message ?? error) })));
  }

  async #next(force) {
    const state = await this.#ask("next_round", { force });
    if (!state) return;
    const open = state.without_result;
    if (state.closed) {
      this.round.value = state.round + 1;
      this.#done(t("next_round_done", { ...state, next: state.round + 1 }));
      this.text.focus();
      return;
    }
    const close = this.#button("next_round_force", "force", () => this.#next(true));
    this.#tell(
      h("h3", {}, t("next_round_open", { round: state.round, n: open.length })),
      h("ul", { class: "open" }, open.map(openSeat)),
      h("div", { class: "buttons" }, close));
  }
}

/** The button that opens the dialog, in the language of the page. */
export function roundButton(hall) {
  const button = h("button", { type: "button", class: "rounds-button", onclick: () => new Rounds(hall).open() });
  const label = () => say(button, t("pairings"));
  new MutationObserver(label).observe(document.documentElement, { attributeFilter: ["lang"] });
  label();
  return button;
}

/** `boards` have changed, and gateways may have. */
export function roundsHear(boards) {
  present?.look();
  tablesHear(boards);
}
