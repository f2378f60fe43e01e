// What an arbiter says of a game: a result, that there was none, what was seen.

import { ask, choice, command, field, select, words } from "./ask.js";
import { fetched, h } from "./dom.js";
import { REPORTS, moveName, nameOf, reportName, t } from "./words.js";

const RESULTS = ["1-0", "0-1", "1/2-1/2", "+/-", "-/+", "-/-", "0-0", "*"];
const FORFEITS = ["+/-", "-/+", "-/-"];
const CLAIMS = ["threefold_claim", "fifty_claim"];

/** Legal half-moves of a position, or of the one after a piece was carried. */
export const legalIn = (fen, chess960 = false, carried = undefined) =>
  fetched("/api/legal", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ fen, chess960, carried }) });

const namesOf = (players) => ({ white: nameOf(players, 0), black: nameOf(players, 1) });
const versus = (players) => `${nameOf(players, 0)} – ${nameOf(players, 1)}`;

/** A result for a game of a board; `game` is its line in the list of games. */
export async function giveResult(board, game, results = RESULTS) {
  const options = results.map((result) => [result, t(`result_${result}`, namesOf(game.players))]);
  const title = t("result_title", { id: board.board, n: game.number });
  const answer = await ask(title, versus(game.players), [field(t("the_result"), choice("result", options)), field(t("reason"), words("reason"))],
    { send: t("result_button") });
  if (!answer) return;
  const fields = { result: answer.result, game: game.number, expect_seq: board.seq };
  if (answer.reason.trim()) fields.reason = answer.reason;
  await command(board, "result", fields);
}

/** A game that nobody came to. */
export const giveForfeit = (board, game) => giveResult(board, game, FORFEITS);

/** The result was a mistake: the game goes on. */
export async function takeResultBack(board, game) {
  const title = t("resume_title", { id: board.board, n: game.number });
  const answer = await ask(title, `${versus(game.players)}. ${t(game.present ? "resume_what" : "resume_past_what")}`,
    [field(t("reason"), words("reason"))], { send: t("resume"), danger: true });
  if (!answer) return;
  const fields = { game: game.number, expect_seq: board.seq };
  if (answer.reason.trim()) fields.reason = answer.reason;
  await command(board, "resume", fields);
}

/** What was set up is another game. */
export async function newGame(board) {
  const answer = await ask(`${t("new_game")}: ${t("board", { id: board.board })}`, t("new_game_what"), [], { send: t("new_game") });
  if (answer) await command(board, "new_game", {});
}

/** The present game goes by the rules that are configured now. */
export async function takeRules(board, game) {
  const title = t("rules_title", { id: board.board, n: game.number });
  const answer = await ask(title, t("rules_what"), [], { send: t("rules_button") });
  if (answer) await command(board, "rules", {});
}

export async function retract(board) {
  const input = h("input", { type: "number", name: "to_ply", min: 0, max: board.plies, value: Math.max(0, board.plies - 1), required: true });
  const answer = await ask(t("retract_title", { id: board.board }), null, [field(t("half_move", { n: "" }), input)]);
  if (answer) await command(board, "retract", { to_ply: Number(answer.to_ply), expect_seq: board.seq });
}

/** What only a person can see. */
export async function report(board, game) {
  const kinds = choice("kind", Object.keys(REPORTS).map((kind) => [kind, reportName(kind)]));
  const sides = [["", t("unclear")], ...["white", "black"].map((side, i) => [side, [t(side), board.players[i]].filter(Boolean).join(": ")])];
  const made = board.moves.map((move, i) => [String(i + 1), `${moveName(board.first_ply, i, move)} · ${t("half_move", { n: i + 1 })}`]);
  const written = field(t("report_written"), select("written_move", [["", t("report_unwritten")]]));
  written.hidden = true;
  const [who, note] = [select("offender", sides), words("note")];
  kinds.addEventListener("change", () => {
    written.hidden = !CLAIMS.includes(kinds.value);
    if (!written.hidden) offer(written.querySelector("select"), board);
    // What the gateway would miss is missed while the words are still there.
    who.required = kinds.value === "flag_fall";
    note.required = kinds.value === "other";
  });
  const answer = await ask(t("report_title", { id: board.board }), null, [
    field(t("report_kind"), kinds),
    field(t("report_ply"), select("ply", [["", t("unclear")], ...made.reverse()])),
    field(t("report_who"), who),
    written,
    field(t("note"), note),
  ], { send: t("report_button") });
  if (!answer) return;
  const fields = { kind: answer.kind };
  if (game) fields.game = game.number;
  if (answer.ply) fields.ply = Number(answer.ply);
  if (answer.offender) fields.offender = answer.offender;
  if (answer.note.trim()) fields.note = answer.note;
  if (answer.written_move && CLAIMS.includes(answer.kind)) fields.written_move = answer.written_move;
  if (answer.kind === "flag_fall") fields.confirmed = false;
  const error = await command(board, "report", fields, { known: ["contradicts_clock", "told_already"] });
  const again = await (error?.code === "contradicts_clock" ? askOfClock(error) : error?.code === "told_already" ? askOfSecond() : null);
  if (again) await command(board, "report", { ...fields, confirmed: true });
}

function askOfClock({ message }) {
  const [, shown, side] = /(\d+:\d\d) for (\w+)/.exec(message) ?? [];
  const whose = t(side === "Black" ? "black" : "white");
  return ask(t("contradicts_title"), t("contradicts_what", { shown, side: whose }), [], { send: t("contradicts_button"), danger: true });
}

/** The board, or another arbiter, has told it already. */
const askOfSecond = () => ask(t("told_title"), t("told_what"), [], { send: t("told_button"), danger: true });

/** Offers the half-moves that a claimant may have written down. */
async function offer(list, board) {
  if (list.options.length > 1 || !board.fen) return;
  const { moves } = await legalIn(board.fen, board.chess960).catch(() => ({ moves: [] }));
  list.append(...(moves ?? []).map(({ uci, san }) => h("option", { value: uci }, san)));
}
