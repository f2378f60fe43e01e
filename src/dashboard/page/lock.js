// Buttons that would be in vain are not to be pressed, and the page says why.

import { h, say } from "./dom.js";
import { tellTime } from "./sight.js";
import { t } from "./words.js";

/** Who has opened the page, and what he may do: all commands where `verbs` is null. */
export const me = { name: null, role: "arbiter", verbs: null, remove: true };

/** Asks the server who we are. */
export async function introduce() {
  const response = await fetch("/api/me").catch(() => null);
  // The link was taken back: the form asks for another one.
  if (response?.status === 401) location.reload();
  if (!response?.ok) return;
  tellTime(response);
  Object.assign(me, await response.json());
}

/** Why a command cannot be sent to a gateway or its boards, in words; none where it can. */
export function obstacle(verb, gateway, hall) {
  if (me.verbs && !me.verbs.includes(verb)) return t(me.verbs.length ? "not_yours" : "read_only");
  if (hall.gateways.get(gateway)?.commands === false) return t("takes_no_commands", { name: gateway });
  return null;
}

/** Locks the buttons within `element` that send commands to `board`, and says why in `note`. */
export function lock(element, note, board, hall) {
  const reasons = new Set();
  for (const button of element.querySelectorAll("button[data-verb]")) {
    const reason = obstacle(button.dataset.verb, board.gateway, hall);
    button.disabled = reason != null;
    button.title = reason ?? "";
    if (reason) reasons.add(reason);
  }
  say(note, [...reasons].join(" "));
  note.hidden = !reasons.size;
}

/** Where the reasons stand. */
export const lockNote = () => h("p", { class: "note locked", role: "status", hidden: true });
