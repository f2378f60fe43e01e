// The line at the top: what is away, and how a gateway that is gone for good is taken off the page.

import { ask, toast } from "./ask.js";
import { fetched, h } from "./dom.js";
import { me } from "./lock.js";
import { noticeText, refusedText } from "./russian.js";
import { language, t } from "./words.js";

async function remove(gateway) {
  const answer = await ask(t("remove_title", { name: gateway }), t("remove_what"), [], { send: t("remove", { name: gateway }), danger: true });
  if (!answer) return;
  try {
    const reply = await fetched("/api/remove", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ gateway }) });
    if (!reply.ok) toast(refusedText(reply.error), "bad");
  } catch (error) {
    toast(refusedText({ code: "page", message: String(error.message ?? error) }), "bad");
  }
}

/** A gateway that is away, with the button that removes it. */
function away(gateway) {
  const line = [h("span", {}, t("outage_gateway", { name: gateway.name }))];
  if (me.remove) {
    line.push(" ", h("button", { type: "button", class: "small", "data-remove": gateway.name, onclick: () => remove(gateway.name) },
      t("remove", { name: gateway.name })));
  }
  return line;
}

/** What there is to say of server, brokers and gateways; `lostSince` is when the server went. */
function lines(hall, lostSince) {
  if (lostSince) return [[t("outage_page", { time: lostSince.toLocaleTimeString(language) })]];
  const said = hall.brokersAway.map((address) => [t("outage_broker", { address })]);
  for (const gateway of hall.gateways.values()) {
    if (gateway.doubled) said.push([t("doubled", { name: gateway.name })]);
    if (gateway.cut) said.push([t("cut", { name: gateway.name })]);
    if (!gateway.online) said.push(away(gateway));
    else if (gateway.rival) said.push([t("rival", { name: gateway.name, host: gateway.rival })]);
    if (gateway.online) for (const notice of gateway.notices) said.push([t("health", { name: gateway.name, message: noticeText(notice) })]);
  }
  return said;
}

let shown = "";
/** Shows it; what says the same is left alone, so that nobody's finger misses a button. */
export function showOutage(hall, lostSince) {
  const said = lines(hall, lostSince);
  const parts = said.flatMap((line, i) => (i ? [" ", ...line] : line));
  const key = JSON.stringify(parts.map((part) => part.outerHTML ?? part));
  if (key === shown) return;
  shown = key;
  const outage = document.getElementById("outage");
  outage.replaceChildren(...parts);
  outage.hidden = !said.length;
}
