// How a game began, and what its clock showed, put right.

import { ask, field } from "./ask.js";
import { correct } from "./edit.js";
import { h } from "./dom.js";
import { moveName, t } from "./words.js";

const INITIAL = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/** The half-moves of a text as people write and copy it: without numbers, comments and a result. */
function halfMoves(text) {
  const bare = text.replace(/\{[^}]*\}/g, " ").replace(/\d+\.+/g, " ");
  return bare.split(/\s+/).filter((word) => word && !/^(1-0|0-1|1\/2-1\/2|\*)$/.test(word));
}

/** The game began from another position than the record has; what was played before its first half-move is entered, too. */
export async function putBeginning(game) {
  const fen = h("input", { name: "fen", maxlength: 100, autocomplete: "off", required: true, value: INITIAL });
  const moves = h("textarea", { name: "moves", rows: 4, spellcheck: "false", placeholder: "1. e4 e5 2. Nf3" });
  const answer = await ask(t("beginning_title"), t("beginning_what"), [field(t("beginning_fen"), fen), field(t("beginning_moves"), moves)], { send: t("edit_send") });
  if (answer) await correct(game, { ply: 1, insert: halfMoves(answer.moves), fen: answer.fen.trim() });
}

/** The sides of the clock were taken for each other. */
export async function exchangeClocks(game) {
  const answer = await ask(t("exchange_title"), t("exchange_what"), [], { send: t("exchange_button") });
  if (answer) await correct(game, { ply: 1, insert: [], exchange_clocks: true });
}

function milliseconds(text) {
  const [hours, minutes, seconds] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** What the clock showed after a half-move. */
export async function putClock(game, ply) {
  const time = (name) => field(t(name), h("input", { name, pattern: "\\d:[0-5]\\d:[0-5]\\d", placeholder: "1:29:30", autocomplete: "off", required: true }));
  const answer = await ask(t("clock_title", { n: ply }), moveName(game.first_ply, ply - 1, game.moves[ply - 1]), [time("white"), time("black")], { send: t("edit_send") });
  if (!answer) return;
  const [white_ms, black_ms] = [answer.white, answer.black].map(milliseconds);
  await correct(game, { ply, insert: [], clock: { white_ms, black_ms } });
}
