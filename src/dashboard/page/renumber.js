// A round that was begun under a wrong number gets the right one.

import { ask, askGateway, field } from "./ask.js";
import { h } from "./dom.js";
import { obstacle } from "./lock.js";
import { refusalText } from "./russian.js";
import { t } from "./words.js";

/** The gateways that say the round of the one which is `chosen`, and take the command; none where it says no round. */
function ofThatRound(chosen, hall) {
  const round = hall.gateways.get(chosen)?.round;
  if (round == null) return [];
  return [...hall.gateways.values()].filter((one) => one.online && one.round === round && obstacle("renumber", one.name, hall) == null);
}

/** True where `chosen` has a round whose number can be put right. */
export const canRenumber = (chosen, hall) => ofThatRound(chosen, hall).some(({ name }) => name === chosen);

/** What a gateway answers, as a line. */
async function answerOf(gateway, fields) {
  const line = (kind, text) => h("li", { class: kind, "data-gateway": gateway }, `${gateway}: ${text}`);
  try {
    const { round, formerly } = await askGateway(gateway, "renumber", fields);
    return line("done", t("renumbered", { round, formerly }));
  } catch (error) {
    return line("refused", refusalText({ code: error.code ?? "page", message: String(error.message ?? error) }));
  }
}

/** Asks for the right number of the round that is in force at `chosen`, and at which other gateways it is the same round.
 * Returns the answers; null where nothing was sent. */
export async function renumber(chosen, hall) {
  const gateways = ofThatRound(chosen, hall).map(({ name }) => name);
  const { round } = hall.gateways.get(chosen);
  const to = h("input", { type: "number", name: "to", min: 1, max: 99, required: true });
  const others = gateways.filter((name) => name !== chosen);
  const also = others.map((name) => h("label", { class: "also" }, h("input", { type: "checkbox", name: `at ${name}`, checked: true }), ` ${t("renumber_also", { name, round })}`));
  const answer = await ask(t("renumber_title", { round }), t("renumber_what"), [field(t("renumber_to"), to), ...also], { send: t("renumber_button") });
  if (!answer) return null;
  const asked = [chosen, ...others.filter((name) => answer[`at ${name}`])];
  return Promise.all(asked.map((name) => answerOf(name, { round, to: Number(answer.to) })));
}
