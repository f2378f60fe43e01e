// What the pages say of a board: its names, its clocks, its state, what it wants.

import { moveName, t, told } from "./words.js";

export const keyOf = (board) => `${board.gateway}/${board.board}`;
const numeric = new Intl.Collator("en", { numeric: true });

/** Name of a board for people; the gateway only where there are several. */
export function titleOf(board, hall) {
  const name = t("board", { id: board.board });
  return hall.gateways.size > 1 ? `${name} · ${board.gateway}` : name;
}

/** Milliseconds on a clock now: it runs on between two messages. */
export function timesNow(board) {
  const clock = board.clock;
  if (!clock) return null;
  const since = board.online ? performance.now() - board.clockAt : 0;
  const left = (side) => clock[`${side}_ms`] - (clock.running === side ? since : 0);
  return { white: left("white"), black: left("black"), running: clock.running };
}

/** The last half-move as people write it. */
export function lastMove(board) {
  if (!board.plies) return "";
  return moveName(board.first_ply, board.plies - 1, { san: board.last_san, uci: board.last_uci });
}

export const hasResult = (board) => board.result != null && board.result !== "*";
export const isPlaying = (board) => board.game != null && !hasResult(board);
/** What wants an arbiter; a suspicion alone does not ring. */
export const isSerious = (item) => !item.irregularity || item.irregularity.certainty !== "suspected";

/** Two boards by their names. */
export const byName = (a, b) => numeric.compare(a.gateway, b.gateway) || numeric.compare(a.board, b.board);

/** What its state is, in a word or two; nothing where it plays. */
export function stateText(board) {
  if (!board.gateway_online) return t("gateway_away");
  if (!board.online) return t("away");
  if (hasResult(board)) return board.result;
  return board.game == null ? t("no_game") : "";
}

/** What of a board wants somebody, in words: its most urgent case, else what its gateway asks. */
export function wantsText(board, first) {
  if (first) return first.irregularity ? told(first.irregularity).title : t(unknownYet(board));
  return board.asks ? t(`asks_${board.asks}`) : "";
}

/** How loudly it is said. */
export const wantsKind = (board) => (board.open.some(isSerious) ? " alert" : board.open.length || board.asks ? " doubt" : "");

/** What is said in place of what is not known of a board's past. */
export const unknownYet = (board) => ({ away: "asking_away", untold: "asking_untold" })[board.past] ?? "asking";
