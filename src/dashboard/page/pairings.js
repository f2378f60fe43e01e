// Rounds: pairings are pasted or taken from a file, looked through, shown and put in force; a round is closed.

import { fetched, h, say } from "./dom.js";
import { t } from "./words.js";

/** Asks a gateway; throws what a person can read. */
async function ask(gateway, verb, fields) {
  const body = JSON.stringify({ gateway, verb, fields });
  const reply = await fetched("/api/round", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.state;
}

/** Bytes of pairings, at most: what a gateway takes. */
const MOST = 192 * 1024;

/** Text of a file as pairing programs write it: UTF-8, or what was there before. */
async function textOf(file) {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

const field = (label, control) => h("label", { class: "field" }, h("span", {}, label), control);
const name = (player) => [player?.title, player?.name, player?.elo].filter(Boolean).join(" ");
const versus = ({ white, black }) => `${white ?? t("white")} – ${black ?? t("black")}`;

const told = (mistake) =>
  (mistake.line ? `${t("pairings_line", mistake)}: ` : "") + t(`pairings_${mistake.code}`, mistake);

function mistakes(title, found, kind) {
  if (!found.length) return null;
  return h("section", { class: kind }, h("h3", {}, title), h("ul", {}, found.map((mistake) => h("li", { "data-code": mistake.code }, told(mistake)))));
}

function seats(boards) {
  const row = ({ id, white, black }) => h("tr", {}, h("th", { scope: "row" }, id), h("td", {}, name(white) || "–"), h("td", {}, name(black) || "–"));
  return h("table", { class: "seats" },
    h("thead", {}, h("tr", {}, ["pairings_board", "white", "black"].map((key) => h("th", { scope: "col" }, t(key))))),
    h("tbody", {}, boards.map(row)));
}

/** The dialog, made anew in the language of the page whenever it is opened. */
class Rounds {
  constructor(gateways) {
    this.gateway = h("select", { name: "gateway" }, gateways.map(({ name }) => h("option", { value: name }, name)));
    const roundOf = () => gateways.find(({ name }) => name === this.gateway.value)?.round ?? 1;
    this.round = h("input", { name: "round", type: "number", min: 1, max: 99, value: roundOf(), required: true });
    this.gateway.addEventListener("input", () => { this.round.value = roundOf(); });
    this.text = h("textarea", { name: "text", rows: 8, spellcheck: "false", placeholder: "board,white,white_elo,black,black_elo" });
    this.file = h("input", { name: "file", type: "file", accept: ".csv,.txt,.trf,.trfx" });
    this.lichess = h("input", { name: "lichess", maxlength: 8, pattern: "[A-Za-z0-9]{8}", autocomplete: "off" });
    this.found = h("div", { class: "found", role: "status" });
    this.put = this.#button("pairings_put", "put", () => this.#put(), "primary");
    this.dialog = h("dialog", { class: "rounds", "aria-labelledby": "rounds-title" },
      h("h2", { id: "rounds-title" }, t("pairings")),
      h("p", {}, t("pairings_what")),
      gateways.length > 1 ? field(t("pairings_gateway"), this.gateway) : null,
      field(t("pairings_round"), this.round),
      field(t("pairings_file"), this.file),
      field(t("pairings_text"), this.text),
      field(t("pairings_lichess"), this.lichess),
      this.found,
      h("div", { class: "buttons" },
        this.#button("pairings_close", "close", () => this.dialog.close()),
        this.#button("next_round", "next", () => this.#next(false)),
        this.#button("pairings_check", "check", () => this.#check()),
        this.put));
    this.put.disabled = true;
    for (const control of [this.gateway, this.round, this.text, this.lichess]) control.addEventListener("input", () => this.#changed());
    this.file.addEventListener("change", async () => {
      const [file] = this.file.files;
      if (!file || this.#isTooLarge(file.size)) return;
      this.text.value = await textOf(file);
      await this.#check();
    });
    this.dialog.addEventListener("close", () => this.dialog.remove());
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.text.focus();
  }

  #button(key, action, run, kind = "plain") {
    return h("button", { type: "button", class: kind, "data-action": action, onclick: run }, t(key));
  }

  /** What was looked through is another text. */
  #changed() {
    this.put.disabled = true;
    this.found.replaceChildren();
  }

  #fields() {
    const fields = { text: this.text.value, round: Number(this.round.value) };
    if (this.lichess.value) fields.lichess = this.lichess.value;
    return fields;
  }

  /** Whoever took a wrong file hears it at once. */
  #isTooLarge(size) {
    if (size <= MOST) return false;
    this.#changed();
    this.found.append(h("p", { class: "refused", "data-code": "too_large" }, t("pairings_too_large", { kb: Math.ceil(size / 1024), most: MOST / 1024 })));
    return true;
  }

  async #ask(verb, fields) {
    try {
      return await ask(this.gateway.value, verb, fields);
    } catch (error) {
      this.found.replaceChildren(h("p", { class: "refused" }, String(error.message ?? error)));
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
    this.found.replaceChildren(...[
      mistakes(t("pairings_wrong", { n: wrong.length }), wrong, "refused"),
      mistakes(t("pairings_noted"), noted, "note"),
      refused ? h("p", { class: "refused", "data-code": refused.code }, t(`pairings_${refused.code}`, refused)) : null,
      h("h3", {}, t("pairings_seats", { n: games })),
      seats(boards)].filter(Boolean));
    this.put.disabled = wrong.length > 0 || refused != null;
    this.found.scrollIntoView({ block: "nearest" });
  }

  async #put() {
    const state = await this.#ask("pairings", { ...this.#fields(), put: true });
    if (!state) return;
    this.put.disabled = true;
    this.found.replaceChildren(h("p", { class: "done" }, t("pairings_done", state)));
  }

  async #next(force) {
    const state = await this.#ask("next_round", { force });
    if (!state) return;
    const open = state.without_result;
    if (state.closed) {
      this.round.value = state.round + 1;
      this.put.disabled = true;
      this.found.replaceChildren(h("p", { class: "done" }, t("next_round_done", { ...state, next: state.round + 1 })));
      this.text.focus();
      return;
    }
    const close = this.#button("next_round_force", "force", () => this.#next(true));
    this.found.replaceChildren(
      h("h3", {}, t("next_round_open", { round: state.round, n: open.length })),
      h("ul", { class: "open" }, open.map((seat) => h("li", {}, `${t("board", { id: seat.board })}: ${versus(seat)}`))),
      h("div", { class: "buttons" }, close));
  }
}

/** The button that opens the dialog, in the language of the page. */
export function roundButton(hall) {
  const button = h("button", { type: "button", class: "rounds-button", onclick: () => {
    const gateways = [...hall.gateways.values()].filter((gateway) => gateway.online);
    new Rounds(gateways).open();
  } });
  const label = () => say(button, t("pairings"));
  new MutationObserver(label).observe(document.documentElement, { attributeFilter: ["lang"] });
  label();
  return button;
}
