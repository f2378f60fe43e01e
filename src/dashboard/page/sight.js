// What wants somebody first: how sure a case is, and how long it has been waiting.

import { t } from "./words.js";

/** How far this browser's clock is behind the server's, in milliseconds. */
let behind = 0;

/** Learns the server's time from an answer of it. */
export function tellTime(response) {
  const told = Date.parse(response.headers.get("date") ?? "");
  if (!Number.isNaN(told)) behind = told - Date.now();
}

const CERTAINTIES = ["certain", "probable", "suspected"];
/** What is not known yet may be certain. */
const certaintyOf = (item) => Math.max(0, CERTAINTIES.indexOf(item.irregularity?.certainty));
const beganAt = (item) => (item.time ? Date.parse(item.time) : Infinity);

/** The surest first, and of those the one that has waited longest. */
const byUrgency = (a, b) => certaintyOf(a) - certaintyOf(b) || (beganAt(a) < beganAt(b) ? -1 : Number(beganAt(a) > beganAt(b)));

/** A board that has not changed is the same object. */
const known = new WeakMap();
/** The case of a board that wants somebody first. */
export function mostUrgent(board) {
  if (!known.has(board)) known.set(board, [...board.open].sort(byUrgency)[0]);
  return known.get(board);
}

/** True where a board wants somebody. */
export const wants = (board) => board.open.length > 0 || Boolean(board.asks);

/** The order of two boards by their cases, then by whether their gateway asks something: those without any come last. */
function byCases(a, b) {
  const [one, other] = [mostUrgent(a), mostUrgent(b)];
  if (one && other) return byUrgency(one, other);
  return Number(Boolean(other)) - Number(Boolean(one)) || Number(Boolean(b.asks)) - Number(Boolean(a.asks));
}

/** Those that want somebody first, the others as they come. */
export function inOrder(boards) {
  const [urgent, calm] = [[], []];
  for (const board of boards) (wants(board) ? urgent : calm).push(board);
  return [...urgent.sort(byCases), ...calm];
}

/** How long ago a case began, as people say it. */
export function ageText(item) {
  if (!item?.time) return "";
  const s = Math.max(0, Math.floor((Date.now() + behind - beganAt(item)) / 1000));
  if (s < 60) return t("age_s", { s });
  const m = Math.floor(s / 60);
  if (m < 60) return t("age_m", { m });
  return m < 24 * 60 ? t("age_h", { h: Math.floor(m / 60), m: m % 60 }) : t("age_d", { d: Math.floor(m / 1440) });
}
