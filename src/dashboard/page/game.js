// One game of a board, the present one or an earlier one: clicked through, put right, given its result.

import { giveResult, takeResultBack } from "./answers.js";
import { tellTheAsked } from "./ask.js";
import { exchangeClocks, putBeginning, putClock } from "./beginning.js";
import { Board, described } from "./board.js";
import { caseLink } from "./cases.js";
import { moveList } from "./detail.js";
import { Answers, Parts, fetched, h, place, say } from "./dom.js";
import { Editor, deleteHalfMove } from "./edit.js";
import { lock, lockNote } from "./lock.js";
import { dayText, dayTime, moveName, nameOf, t } from "./words.js";

/** The page of one game. */
export class GamePage {
  #parts = new Parts();
  #answers = new Answers();
  /** Half-moves that are played on the diagram. */
  #ply = 0;
  #game = null;
  #hall = null;

  constructor() {
    this.board = new Board({ coordinates: true });
    this.caption = h("figcaption", { role: "status" });
    this.editor = new Editor(this.board, () => this.#draw());
    this.head = h("div");
    this.locked = lockNote();
    const step = (name, by, sign) => h("button", { type: "button", "data-step": name, onclick: () => this.#go(by()) }, sign);
    this.steps = h("div", { class: "buttons steps" },
      step("first", () => 0, "|◀"), step("back", () => this.#ply - 1, "◀"), step("on", () => this.#ply + 1, "▶"), step("last", () => Infinity, "▶|"));
    this.acts = h("div");
    this.side = h("aside");
    this.element = h("section", { class: "game" }, this.head, this.locked,
      h("div", { class: "columns" },
        h("div", { class: "table" }, h("figure", {}, this.caption, this.board.element), h("div", { class: "handles" }, this.steps, this.editor.element, this.acts)),
        this.side));
  }

  /** Shows half-move `ply` of a game; the last one without it. */
  async show(hall, key, number, ply) {
    const name = `${key}/${number}`;
    const isNew = this.name !== name;
    this.name = name;
    if (isNew) {
      this.#parts.clear();
      [this.#game, this.asked] = [null, undefined];
      this.editor.stop();
    }
    const question = this.#answers.ask();
    const [game, detail] = await Promise.all([`/api/game/${key}/${number}`, `/api/board/${key}`].map((path) => fetched(path).catch(() => null)));
    if (this.name !== name) return;
    if (!game || !detail) {
      if (!this.#game) this.head.replaceChildren(h("p", { class: "empty" }, t("waiting")));
      return;
    }
    if (!this.#answers.isNews(question)) return;
    const wasLast = !this.#game || this.#ply === this.#game.moves.length;
    const asked = ply === undefined || ply === "" ? undefined : Number(ply);
    [this.#game, this.#hall, this.detail] = [game, hall, detail];
    if (isNew || (asked !== undefined && asked !== this.asked)) this.#ply = asked ?? game.moves.length;
    else if (wasLast) this.#ply = game.moves.length;
    this.asked = asked;
    this.#ply = Math.min(Math.max(0, this.#ply), game.moves.length);
    this.editor.follow(game);
    this.#draw();
  }

  /** A key that the page does not know itself; whether it was ours. */
  key(event) {
    const to = { ArrowLeft: this.#ply - 1, ArrowRight: this.#ply + 1, Home: 0, End: Infinity }[event.key];
    if (to === undefined || !this.#game) return false;
    this.#go(to);
    return true;
  }

  #go(ply) {
    if (!this.#game || this.editor.isOpen) return;
    this.#ply = Math.min(Math.max(0, ply), this.#game.moves.length);
    this.#draw();
    this.side.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  #draw() {
    const game = this.#game;
    if (!game) return;
    const number = game.number;
    place(this.head, [this.#parts.part("head", [game.end, game.players, game.began], () => this.#heading(game))]);
    const made = game.moves[this.#ply - 1];
    if (!this.editor.isOpen) {
      const fen = made ? made.fen : game.start_fen;
      say(this.caption, made ? `${moveName(game.first_ply, this.#ply - 1, made)} · ${t("half_move", { n: this.#ply })}${made.time ? ` · ${dayTime(made.time)}` : ""}` : t("start"));
      this.board.show({ placement: fen, last: made?.uci, label: `${this.caption.textContent}. ${described(fen)}` });
    } else {
      say(this.caption, this.editor.caption);
    }
    this.#showSteps();
    const cases = this.detail.cases.filter((item) => item.game === number);
    tellTheAsked(this.detail.cases);
    place(this.acts, this.editor.isOpen ? [] : [this.#parts.part("acts", [this.#ply, game.moves, game.complete], () => this.#edits(game, this.#ply))]);
    place(this.side, [
      this.#parts.part("moves", [game.moves, this.#ply], () => h("section", {}, h("h2", {}, t("moves")),
        moveList(game, (ply, name, kind) => h("button", { type: "button", class: `half ${kind}`, "data-ply": ply, "aria-current": ply === this.#ply ? "true" : null, onclick: () => this.#go(ply) }, name)))),
      this.#parts.part("cases", cases, () => h("section", {}, h("h2", {}, t("cases_of_game")),
        cases.length ? h("ul", { class: "plain" }, cases.map(caseLink)) : h("p", { class: "muted" }, t("no_cases")))),
    ]);
    lock(this.element, this.locked, game, this.#hall);
  }

  #heading(game) {
    const { end } = game;
    // A heading that stays may be older than the game: a command is about what is seen now.
    const act = (verb, run) => h("button", { type: "button", "data-verb": verb, onclick: () => run(this.#game, this.#game) }, t(verb));
    const said = end ? [t("the_result"), end.result, end.by ?? t(`reason_${end.reason}`), end.note && t("quoted", { words: end.note }), dayTime(end.time)] : [t(game.present ? "goes_on" : "no_result")];
    return h("div", {},
      h("p", { class: "back" }, h("a", { href: `#/board/${game.gateway}/${game.board}` }, `← ${t("board", { id: game.board })}`)),
      h("header", { class: "title" },
        h("h1", {}, `${t("board", { id: game.board })} · ${t("game_no", { n: game.number })}`),
        h("p", { class: "versus" }, `${nameOf(game.players, 0)} – ${nameOf(game.players, 1)}`)),
      h("p", { class: "outcome" }, [game.began && `${dayText(game.began)}, ${dayTime(game.began)}`, ...said].filter(Boolean).join(" · ")),
      h("div", { class: "buttons" }, act("result", giveResult), end ? act("resume", takeResultBack) : null));
  }

  #showSteps() {
    for (const button of this.steps.children) {
      const name = button.dataset.step;
      button.setAttribute("aria-label", t(`step_${name}`));
      button.disabled = this.editor.isOpen || (["first", "back"].includes(name) ? this.#ply === 0 : this.#ply === this.#game.moves.length);
    }
  }

  /** What may be done with the half-move that is shown. */
  #edits(game, ply) {
    if (!game.complete) return h("p", { class: "note" }, t("game_incomplete"));
    const act = (name, run) => h("button", { type: "button", "data-verb": "correct", "data-act": name, onclick: run }, t(`${name}_act`, { n: ply }));
    const last = ply === game.moves.length;
    return h("div", { class: "buttons edits" },
      ply ? act("change", () => this.editor.start(this.#game, ply, 1)) : null,
      ply ? act("insert", () => this.editor.start(this.#game, ply, 0)) : null,
      ply ? act("delete", () => deleteHalfMove(this.#game, ply)) : null,
      last ? act("append", () => this.editor.start(this.#game, ply + 1, 0)) : null,
      ply ? act("clock", () => putClock(this.#game, ply)) : act("beginning", () => putBeginning(this.#game)),
      !ply && game.moves.length ? act("exchange", () => exchangeClocks(this.#game)) : null);
  }
}
