// One game over the picture of a stream: /overlay?board=7, with &diagram=1 the board as well.

import { Board, described } from "./board.js";
import { fetched, h, say } from "./dom.js";
import { clockOf, nameOf } from "./public.js";

const asked = new URLSearchParams(location.search);
const number = Number(asked.get("board") ?? 1);
const board = new Board();
const sides = ["black", "white"].map((side) => {
  const parts = { name: h("span", { class: "name" }), clock: h("span", { class: "clock" }) };
  return { side, ...parts, element: h("p", { class: `player ${side}` }, h("span", { class: "dot", "aria-hidden": "true" }), parts.name, parts.clock) };
});
const move = h("p", { class: "move" });
const diagram = asked.get("diagram") ? [board.element] : [];
document.getElementById("main").append(sides[0].element, ...diagram, sides[1].element, move);

/** What is shown stays when the server is away: a stream goes on. */
async function look() {
  const round = await fetched("/api/round").catch(() => null);
  const game = round?.games.find((game) => game.number === number);
  if (!game) return;
  for (const { side, name, clock } of sides) {
    say(name, nameOf(game, side));
    say(clock, clockOf(game.clocks[side === "white" ? 0 : 1]));
  }
  say(move, [game.last, game.result === "*" ? "" : game.result].filter(Boolean).join("  "));
  if (diagram.length) board.show({ placement: game.placement, last: game.uci, label: described(game.placement) });
}

look();
setInterval(look, 2_000);
