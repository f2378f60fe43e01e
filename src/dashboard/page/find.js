// Finds boards among a thousand: by what state they are in, and by words, which are a number, a gateway, a player, a state.

import { hasResult, isPlaying, keyOf } from "./shown.js";
import { wants } from "./sight.js";
import { inAllLanguages } from "./words.js";

/** The states with a button; each has a word of its name. */
export const STATES = {
  all: () => true,
  attention: wants,
  playing: isPlaying,
  finished: hasResult,
  away: (board) => !board.online,
};

/** What one may type for a state, as its phrase in `words.js`. */
const TYPED = {
  typed_open: (board) => board.open.length > 0,
  typed_suspected: (board) => board.open.some((item) => item.irregularity?.certainty === "suspected"),
  typed_asks: (board) => Boolean(board.asks),
  typed_playing: isPlaying,
  typed_finished: hasResult,
  typed_no_game: (board) => board.game == null && !hasResult(board),
  typed_away: (board) => !board.online,
  typed_gateway_away: (board) => !board.gateway_online,
  typed_lichess: (board) => Boolean(board.lichess?.error),
};

/** A text as it is compared: small letters without marks. */
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** What can be found of a board: names, where any part counts, and words, where the beginning does. */
function findable(board) {
  const states = Object.keys(TYPED).filter((key) => TYPED[key](board)).flatMap(inAllLanguages);
  const wrong = board.open.flatMap((item) => Object.values(item.irregularity?.text ?? {}).map((text) => text.title));
  const asks = board.asks ? inAllLanguages(`asks_${board.asks}`) : [];
  const words = [...inAllLanguages("typed_board"), ...states, ...wrong, ...asks, board.result ?? ""];
  return {
    names: plain([keyOf(board), ...board.players].filter(Boolean).join("\n")),
    words: plain(words.join(" ")).split(/[\s:,()]+/),
  };
}

/** A board that has not changed is the same object. */
const known = new WeakMap();
function findableOf(board) {
  if (!known.has(board)) known.set(board, findable(board));
  return known.get(board);
}

/** How well a board fits a word: 0 is its very name, then what begins so, then what has it anywhere; else nothing. */
function fit(board, word) {
  const [id, key] = [board.board.toLowerCase(), keyOf(board).toLowerCase()];
  if (id === word || key === word) return 0;
  if (id.startsWith(word)) return 1;
  const { names, words } = findableOf(board);
  return names.includes(word) || words.some((known) => known.startsWith(word)) ? 2 : Infinity;
}

/** The boards that fit all words of a text, those that fit best first; the others keep their order. */
export function found(boards, text) {
  const words = plain(text).split(/\s+/).filter(Boolean);
  if (!words.length) return boards;
  const fits = boards.map((board) => {
    const each = words.map((word) => fit(board, word));
    return { board, all: Math.max(...each) < Infinity, best: Math.min(...each) };
  });
  return fits.filter(({ all }) => all).sort((a, b) => a.best - b.best).map(({ board }) => board);
}
