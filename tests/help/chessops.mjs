// Reads every PGN below a folder with chessops, the library with which the pages of lichess read games, and prints one
// JSON object a game, as the reader in `reader.rs` does with python-chess.
//
//     node chessops.mjs PACKAGE FOLDER

import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , library, folder] = process.argv;
const part = (name) => import(pathToFileURL(join(library, "dist/esm", `${name}.js`)));
const { parseComment, parsePgn, startingPosition } = await part("pgn");
const { castlingSide } = await part("chess");
const { parseSan } = await part("san");
const { kingCastlesTo, makeUci } = await part("util");

const last = (values) => values.filter((value) => value !== undefined).pop() ?? null;

// Follows the game as far as it has legal moves.
function follow(game, position, read) {
  const isChess960 = game.headers.has("Variant");
  for (const node of game.moves.mainline()) {
    const move = parseSan(position, node.san);
    if (move === undefined) {
      read.errors.push(`illegal: ${node.san}`);
      return;
    }
    const side = isChess960 ? undefined : castlingSide(position, move);
    read.moves.push(makeUci(side ? { ...move, to: kingCastlesTo(position.turn, side) } : move));
    position.play(move);
    const comments = (node.comments ?? []).map(parseComment);
    read.clocks.push(last(comments.map((comment) => comment.clock)));
    read.used.push(last(comments.map((comment) => comment.emt)));
  }
}

const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".pgn"));
for (const file of files.sort()) {
  for (const game of parsePgn(readFileSync(join(folder, file), "utf8"))) {
    const headers = Object.fromEntries(game.headers);
    const read = { file: basename(file), headers, errors: [], moves: [], clocks: [], used: [] };
    startingPosition(game.headers).unwrap(
      (position) => follow(game, position, read),
      (error) => read.errors.push(`no start: ${error.message}`),
    );
    console.log(JSON.stringify(read));
  }
}
