// Results of games of which no board tells: an arbiter enters them, and takes them back.

import { askGateway } from "./ask.js";
import { h } from "./dom.js";
import { refusalText } from "./russian.js";
import { playerName, t } from "./words.js";

const RESULTS = [["", "–"], ["1-0", "1-0"], ["1/2-1/2", "½-½"], ["0-1", "0-1"],
  ["+/-", "+/−"], ["-/+", "−/+"], ["-/-", "−/−"], ["0-0", "0-0"]];

/** The games of the present round at a gateway that no board tells of. `refused` shows why something was not taken. */
export class HandResults {
  constructor(gateway, refused) {
    Object.assign(this, { gateway, refused });
    this.rows = h("tbody");
    this.empty = h("p", { class: "note none" }, t("hand_none"));
    this.unheard = h("p", { class: "note", hidden: true }, t("hand_not_public"));
    this.title = h("h3");
    this.table = h("table", { class: "seats hand" },
      h("thead", {}, h("tr", {}, ["hand_game", "white", "black", "hand_result"].map((key) => h("th", { scope: "col" }, t(key))))),
      this.rows);
    this.element = h("section", { class: "hand-results" }, this.title, h("p", {}, t("hand_what")), this.unheard, this.empty, this.table);
  }

  /** Asks for the games, and takes what `results` has. True where the gateway answered. */
  async ask(results = {}) {
    try {
      const asked = Object.keys(results).length ? { round: this.round, results } : {};
      this.#draw(await askGateway(this.gateway, "results", asked));
      return true;
    } catch (error) {
      this.refused(refusalText({ code: error.code ?? "page", message: String(error.message ?? error) }));
      return false;
    }
  }

  #draw({ round, games, public: isPublic }) {
    this.round = round;
    this.unheard.hidden = isPublic !== false;
    this.title.textContent = t("hand_title", { round });
    this.empty.hidden = games.length > 0;
    this.table.hidden = !games.length;
    // Whoever went on to another game while the answer was on its way stays there.
    const at = this.rows.contains(document.activeElement) ? document.activeElement.name : null;
    this.rows.replaceChildren(...games.map((game) => this.#row(game)));
    if (at) this.rows.querySelector(`[name="${at}"]`)?.focus();
  }

  #row({ game, white, black, result, by }) {
    const label = `${t("hand_game")} ${game}: ${t("hand_result")}`;
    const choice = h("select", { name: `result-${game}`, "aria-label": label },
      RESULTS.map(([value, text]) => h("option", { value, selected: value === (result ?? "") }, text)));
    choice.addEventListener("change", async () => {
      const taken = await this.ask({ [game]: choice.value || null });
      // The page shows what counts, never what was only wished for.
      if (!taken) choice.value = result ?? "";
    });
    return h("tr", { "data-game": game },
      h("th", { scope: "row" }, game), h("td", {}, playerName({ name: white }) || "–"), h("td", {}, playerName({ name: black }) || "–"),
      h("td", {}, choice, by ? h("span", { class: "by" }, ` ${by}`) : null));
  }
}
