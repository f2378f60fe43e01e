// The dialog that binds boards to tables.

import { askGateway } from "./ask.js";
import { Binding } from "./binding.js";
import { h, say } from "./dom.js";
import { hasResult, keyOf } from "./shown.js";
import { refusalText } from "./russian.js";
import { playerName, t } from "./words.js";

/** The one that is open. */
let present = null;

/** What the gateway refuses, in words. */
function refusal({ code = "page", message }) {
  const boards = /in force: ([^;]*);/.exec(message)?.[1];
  return code === "boards_played" && boards ? t("bind_boards_played", { boards }) : refusalText({ code, message });
}

class Tables {
  constructor(gateway, hall, { boards, bound }, done) {
    Object.assign(this, { gateway, hall, done, names: boards.map(({ id }) => id), seats: boards });
    this.binding = new Binding(this.names.map((id) => this.#key(id)));
    this.now = h("p", { class: "now", role: "status" });
    this.said = h("p", { class: "outcome", role: "status" });
    this.rows = h("tbody");
    this.undo = this.#button("bind_undo", "undo", () => this.binding.undo());
    this.skip = this.#button("bind_skip", "skip", () => this.binding.skip());
    this.put = h("button", { type: "button", class: "primary", "data-action": "bind-put", onclick: () => this.#put(this.#order()) }, t("pairings_put"));
    const configured = h("button", { type: "button", class: "plain", "data-action": "bind-configured", onclick: () => this.#put([]) }, t("bind_configured"));
    this.dialog = h("dialog", { class: "rounds tables", "aria-labelledby": "tables-title" },
      h("h2", { id: "tables-title" }, t("bind_title")),
      h("p", {}, t("bind_what")),
      this.now, this.said,
      h("div", { class: "all", tabindex: "0" }, h("table", { class: "seats" },
        h("thead", {}, h("tr", {}, ["bind_a_table", "pairings_board", "white", "black"].map((key) => h("th", { scope: "col" }, t(key))))),
        this.rows)),
      h("div", { class: "buttons" },
        h("button", { type: "button", class: "plain", "data-action": "bind-close", onclick: () => this.dialog.close() }, t("cancel")),
        bound ? configured : null, this.undo, this.skip, this.put));
    this.dialog.addEventListener("close", () => {
      this.dialog.remove();
      present = null;
    });
    this.hear([...hall.boards.values()]);
    this.#draw();
  }

  open() {
    present = this;
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.skip.focus();
  }

  /** The board with this name among the tables; those of other gateways are named with theirs. */
  #key(id) {
    return id.includes("/") ? id : `${this.gateway}/${id}`;
  }

  #name(key) {
    return this.names.find((id) => this.#key(id) === key);
  }

  #order() {
    return this.binding.order.map((key) => this.#name(key));
  }

  #button(key, action, change) {
    const press = () => {
      change();
      say(this.said, "");
      this.#draw();
    };
    return h("button", { type: "button", class: "plain", "data-action": action, onclick: press }, t(key));
  }

  /** These boards have changed. */
  hear(boards) {
    for (const board of boards) {
      const isPlaying = board.game != null && board.plies > 0 && !hasResult(board);
      const seen = this.binding.sees(keyOf(board), board.placement, isPlaying);
      if (!seen) continue;
      const { what, table } = seen;
      const named = (seen.boards ?? [seen.board]).map((key) => this.#name(key)).join(", ");
      say(this.said, t(`bind_${what}`, { boards: named, n: table + 1 }));
      this.said.className = `outcome ${["bound", "lifted"].includes(what) ? "fits" : "refused"}`;
      if (what === "bound") this.#draw();
    }
  }

  #draw() {
    const { at, bound, order, canUndo } = this.binding;
    say(this.now, at === null ? t("bind_all") : t("bind_now", { n: at + 1 }));
    this.undo.disabled = !canUndo;
    this.skip.disabled = at === null;
    this.put.disabled = !bound.size;
    const hadFocus = this.rows.contains(document.activeElement);
    this.rows.replaceChildren(...this.seats.map(({ white, black }, table) => {
      const key = order[table];
      const away = this.hall.boards.get(key)?.online ? null : h("small", {}, ` ${t("away")}`);
      const turn = this.#button("bind_table", "turn", () => this.binding.turn(table));
      say(turn, t("bind_table", { n: table + 1 }));
      return h("tr", { class: bound.has(table) ? "bound" : "", "aria-current": table === at && "step" },
        h("th", { scope: "row" }, turn),
        h("td", {}, this.#name(key), bound.has(table) ? " ✓" : null, away),
        h("td", {}, playerName(white) || "–"), h("td", {}, playerName(black) || "–"));
    }));
    const row = this.rows.querySelector("[aria-current]");
    row?.scrollIntoView({ block: "nearest" });
    if (hadFocus) (row?.querySelector("button") ?? this.put).focus();
  }

  async #put(boards) {
    try {
      this.done(await askGateway(this.gateway, "bind", { boards }));
      this.dialog.close();
    } catch (error) {
      say(this.said, refusal(error));
      this.said.className = "outcome refused";
    }
  }
}

/** Opens the dialog for the boards of `gateway`; throws what a person can read. */
export async function bindTables(gateway, hall, done) {
  const state = await askGateway(gateway, "bind", {});
  new Tables(gateway, hall, state, done).open();
}

/** These boards have changed. */
export function tablesHear(boards) {
  present?.hear(boards);
}
