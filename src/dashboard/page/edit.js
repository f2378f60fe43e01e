// Half-moves put right: chosen from a list or played on the diagram. What is legal the server says; the record is the gateway's.

import { legalIn } from "./answers.js";
import { ask, command, refusedMove, toast } from "./ask.js";
import { described, squares, indexOf } from "./board.js";
import { h, place, say } from "./dom.js";
import { moveName, squaresOf, t } from "./words.js";

/** Sends a correction. Where half-moves after it do not follow any more, asks whether they are taken out.
 * Whether it was carried out. */
export async function correct(game, order) {
  const fields = { game: game.number, expect_seq: game.seq, ...order };
  const error = await command(game, "correct", fields, { known: ["no_such_move"] });
  if (error?.code !== "no_such_move") return !error;
  const { ply, name } = refusedMove(error);
  if (ply < order.ply + order.insert.length) {
    await ask(t("unplayable_title", { n: ply }), t("unplayable_what", { n: ply, move: name }), [], { send: t("understood") });
    return false;
  }
  const answer = await ask(t("rest_title", { n: ply }), t("rest_what", { n: ply, move: name }), [], { send: t("rest_button", { n: ply }), danger: true });
  return Boolean(answer) && !(await command(game, "correct", { ...fields, drop_rest: true }));
}

/** Takes a half-move out. */
export async function deleteHalfMove(game, ply) {
  const name = moveName(game.first_ply, ply - 1, game.moves[ply - 1]);
  const answer = await ask(t("delete_title", { n: ply }), t("delete_what", { move: name }), [], { send: t("delete_act", { n: ply }).replace("…", ""), danger: true });
  if (answer) await correct(game, { ply, delete: 1, insert: [] });
}

/** The tools for putting half-moves in, below a diagram. */
export class Editor {
  #edit = null;

  constructor(board, changed) {
    this.board = board;
    this.changed = changed;
    this.element = h("div", { class: "editor", hidden: true });
    board.element.addEventListener("click", (event) => this.#clicked(board.squareAt(event)));
  }

  get isOpen() {
    return this.#edit !== null;
  }

  /** What the diagram shows meanwhile. */
  get caption() {
    const { ply, out, game } = this.#edit;
    const old = out ? moveName(game.first_ply, ply - 1, game.moves[ply - 1]) : "";
    return t(out ? "changing" : "inserting", { n: ply, move: old });
  }

  /** `out` half-moves from `ply` on are taken out, and others put in. */
  async start(game, ply, out) {
    const fen = ply > 1 ? game.moves[ply - 2].fen : game.start_fen;
    const before = game.moves.slice(0, ply - 1).map((move) => move.uci).join();
    this.#edit = { game, ply, out, before, put: [], at: { fen, moves: [] }, from: null, isIllegal: false, ways: [], said: "" };
    await this.#look(fen);
    this.element.querySelector("select")?.focus({ preventScroll: true });
    // On a small screen the diagram is not there any more where the button was.
    this.board.element.closest("figure")?.scrollIntoView({ block: "nearest" });
  }

  stop() {
    this.#edit = null;
    this.element.hidden = true;
    this.element.replaceChildren();
    this.board.element.classList.remove("played");
  }

  /** The game goes on meanwhile: where it is another one before the half-move, nobody knows any more what was meant. */
  follow(game) {
    const edit = this.#edit;
    if (!edit) return;
    const before = game.moves.slice(0, edit.ply - 1).map((move) => move.uci).join();
    if (before !== edit.before) this.stop();
    else edit.game = game;
  }

  async #look(fen, carried) {
    const edit = this.#edit;
    const { chess960 } = edit.game;
    const at = await legalIn(fen, chess960, carried).catch(() => null);
    if (this.#edit !== edit) return;
    if (!at?.fen) {
      toast(t("no_position"), "bad");
      this.stop();
      return this.changed();
    }
    Object.assign(edit, { at, from: null, ways: [], said: "" });
    this.#draw();
    this.changed();
  }

  /** Half-moves that are put in; one that is changed becomes one. */
  get #isFull() {
    return Boolean(this.#edit.out) && this.#edit.put.length === 1;
  }

  async #enter(move, carried) {
    const edit = this.#edit;
    const before = edit.at.fen;
    edit.put.push({ ...move, before, illegal: Boolean(carried) });
    await this.#look(carried ? before : move.fen, carried);
  }

  async #takeBack() {
    const last = this.#edit.put.pop();
    if (last) await this.#look(last.before);
  }

  #clicked(square) {
    const edit = this.#edit;
    if (!edit || !square || this.#isFull) return;
    const letters = squares(edit.at.fen);
    if (!edit.from || edit.from === square) {
      const stands = letters[indexOf(square)] !== " ";
      Object.assign(edit, { from: stands && edit.from !== square ? square : null, ways: [], said: "" });
      return this.#draw();
    }
    const uci = edit.from + square;
    const ways = edit.at.moves.filter((move) => move.uci.startsWith(uci));
    if (ways.length === 1) return this.#enter(ways[0]);
    if (ways.length) edit.ways = ways;
    else if (edit.isIllegal) return this.#enter({ uci, san: null }, uci);
    else Object.assign(edit, { said: t("not_legal", { move: squaresOf(uci) }), from: null });
    this.#draw();
  }

  #draw() {
    const edit = this.#edit;
    const targets = edit.from ? edit.at.moves.filter((move) => move.uci.startsWith(edit.from)).map((move) => move.uci.slice(2, 4)) : [];
    const last = edit.put.at(-1);
    this.board.show({ placement: edit.at.fen, last: last?.uci ?? null, marked: edit.from ? [edit.from, ...targets] : [], label: `${this.caption}. ${described(edit.at.fen)}` });
    this.board.element.classList.add("played");
    this.element.hidden = false;
    place(this.element, this.#tools(edit));
    for (const button of this.element.querySelectorAll("[data-send]")) button.disabled = !edit.put.length;
  }

  #tools(edit) {
    const entered = edit.put.map((move, i) => moveName(edit.game.first_ply, edit.ply - 1 + i, move)).join(" ");
    const list = h("select", { name: "half_move", "aria-label": t("legal_moves"), disabled: this.#isFull },
      h("option", { value: "", selected: true, disabled: true }, t(edit.at.moves.length ? "choose_move" : "no_legal_moves")),
      edit.at.moves.map((move, i) => [i, move]).sort(([, a], [, b]) => a.san.localeCompare(b.san)).map(([i, move]) => h("option", { value: i }, move.san)));
    const illegal = h("input", { type: "checkbox", name: "illegal", checked: edit.isIllegal, onchange: (event) => { edit.isIllegal = event.target.checked; } });
    const button = (act, run, kind = "") => h("button", { type: "button", class: kind, "data-act": act, onclick: run }, t(`edit_${act}`));
    // By keys one goes through the list before one has chosen.
    const put = button("put", () => list.value && this.#enter(edit.at.moves[Number(list.value)]));
    put.disabled = this.#isFull;
    const send = h("button", { type: "button", class: "primary", "data-send": true, onclick: () => this.#send() }, t("edit_send"));
    const said = h("p", { class: "said", role: "alert" });
    say(said, edit.said);
    return [
      h("p", {}, t(edit.ways.length ? "promotes_to" : edit.put.length ? "to_be_entered" : "play_it", { moves: entered })),
      h("div", { class: "pick" }, h("label", { class: "field" }, h("span", {}, t("legal_moves")), list), h("div", { class: "buttons" }, put)),
      edit.ways.length ? h("div", { class: "buttons ways", role: "group", "aria-label": t("promotes_to") }, edit.ways.map((move) => h("button", { type: "button", "data-way": move.uci, onclick: () => this.#enter(move) }, move.san))) : null,
      h("label", { class: "tick" }, illegal, " ", t("illegal_tick")),
      said,
      h("div", { class: "buttons" }, send, edit.put.length ? button("undo", () => this.#takeBack()) : null, button("cancel", () => { this.stop(); this.changed(); })),
    ].filter(Boolean);
  }

  async #send() {
    const edit = this.#edit;
    const order = { ply: edit.ply, delete: edit.out, insert: edit.put.map((move) => move.uci) };
    if (edit.put.some((move) => move.illegal)) order.illegal = true;
    if (await correct(edit.game, order) && this.#edit === edit) {
      this.stop();
      this.changed();
    }
  }
}
