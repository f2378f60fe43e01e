// The next round by one button: each gateway begins it by the pairings that it knows, and its answer is shown.

import { askGateway } from "./ask.js";
import { h, say } from "./dom.js";
import { obstacle } from "./lock.js";
import { refusalText } from "./russian.js";
import { t } from "./words.js";

/** A game without a result. */
export const openSeat = ({ board, game, white, black }) =>
  h("li", {}, `${board == null ? t("hand_without_board", { game }) : t("board", { id: board.split("/").at(-1) })}: ${white ?? t("white")} – ${black ?? t("black")}`);

/** A gateway, or a broadcast of the page's own program, in words. */
export const roundName = (name) => (name === "/" ? t("own_cast") : name.startsWith("/") ? t("own_group", { group: name.slice(1) }) : name);

/** The button. `chosen` is who is chosen in the dialog, `further` gives what the round has at a gateway besides its pairings, and `tell` shows what came of it. */
export class NextRound {
  constructor(hall, chosen, further, tell) {
    Object.assign(this, { hall, chosen, further, tell, begins: null, asking: false });
    this.button = h("button", { type: "button", class: "plain", "data-action": "begin", onclick: () => this.#begin(this.#due(), false) });
    this.look();
  }

  /** Who can hear of a round: gateways, and broadcasts of the page's own program that follow none. One of these that is chosen begins its round alone. */
  #rounds() {
    const chosen = this.hall.own.find(({ name }) => name === this.chosen());
    if (chosen) return chosen.follows ? [] : [chosen];
    const gateways = [...this.hall.gateways.values()].filter(({ online, round }) => online && round != null);
    const own = this.hall.own.filter(({ follows }) => !follows);
    return [...gateways, ...own].filter(({ name }) => obstacle("next_round", name, this.hall) == null);
  }

  /** The gateways that are behind the others, or all. A round that was named is said to whoever has not begun it. */
  #due() {
    return this.#rounds().filter(({ round }) => round < this.begins);
  }

  /** The gateways may have gone on. The number stays while the dialog is open: nobody begins two rounds by two clicks. */
  look() {
    const rounds = this.#rounds().map(({ round }) => round);
    this.begins ??= rounds.length ? Math.min(...rounds) + 1 : null;
    this.button.hidden = this.begins == null;
    this.button.disabled = this.asking || !this.#due().length;
    say(this.button, this.begins == null ? "" : t("round_begin", { round: this.begins }));
  }

  /** Somebody else is chosen. */
  choose() {
    this.begins = null;
    this.look();
  }

  async #begin(gateways, force) {
    this.asking = true;
    this.look();
    const begin = this.begins;
    const answers = await Promise.all(gateways.map(({ name }) => this.#ask(name, { begin, force, ...this.further(name) })));
    this.asking = false;
    const left = gateways.filter((_, i) => answers[i].open);
    this.tell(
      h("ul", { class: "answers" }, answers.map(({ line }) => line)),
      left.length ? h("div", { class: "buttons" },
        h("button", { type: "button", class: "plain", "data-action": "begin-force", onclick: () => this.#begin(left, true) }, t("round_begin_force"))) : "");
    this.look();
  }

  /** The answer of a gateway as a line. */
  async #ask(gateway, fields) {
    const line = (kind, text, ...more) => h("li", { class: kind, "data-gateway": gateway }, `${roundName(gateway)}: ${text}`, ...more);
    try {
      const state = await askGateway(gateway, "next_round", fields);
      if (state.begun) return { line: line("done", t("round_begun", state)) };
      const open = state.without_result;
      return { open: true, line: line("refused", t("next_round_open", { round: state.round, n: open.length }), h("ul", { class: "open" }, open.map(openSeat))) };
    } catch (error) {
      return { line: line("refused", refusalText({ code: error.code ?? "page", message: String(error.message ?? error) })) };
    }
  }
}
