// A chess board as a drawing.

import { svg } from "./dom.js";
import { t } from "./words.js";

const SIZE = 45;
const FILES = "abcdefgh";

/** 64 letters from a8 to h1, a space where nothing stands. */
export function squares(placement) {
  const field = (placement ?? "").split(" ")[0];
  const letters = [...field].flatMap((c) =>
    c === "/" ? [] : c >= "1" && c <= "8" ? Array(Number(c)).fill(" ") : [c]);
  return letters.length === 64 ? letters : Array(64).fill(" ");
}

const nameOf = (index) => FILES[index % 8] + (8 - Math.floor(index / 8));
/** The place of a square among the 64. */
export const indexOf = (name) => FILES.indexOf(name[0]) + 8 * (8 - Number(name[1]));

/** Names of the squares on which two placements differ. */
export function differing(a, b) {
  const [one, other] = [squares(a), squares(b)];
  return one.flatMap((piece, i) => (piece === other[i] ? [] : [nameOf(i)]));
}

/** The pieces in words, for those who do not see them. */
export function described(placement) {
  const letters = squares(placement);
  const side = (test, label) => {
    const men = ["K", "Q", "R", "B", "N", "P"].flatMap((kind) =>
      letters.flatMap((c, i) => (c.toUpperCase() === kind && test(c) ? [t(`man_${kind}`) + nameOf(i)] : [])));
    return men.length ? `${label}: ${men.join(" ")}` : "";
  };
  const parts = [side((c) => c < "a", t("white")), side((c) => c > "Z", t("black"))];
  return parts.filter(Boolean).join(". ") || t("empty_board");
}

/** A board; `show({ placement, last, marked, wrong, label })` changes it, touching only what differs. */
export class Board {
  #letters = Array(64).fill(" ");
  #men = Array(64).fill(null);
  #marks = "";

  constructor({ coordinates = false } = {}) {
    const box = coordinates ? "-14 -2 376 378" : "0 0 360 360";
    this.element = svg("svg", { class: "board", viewBox: box, role: "img" });
    this.element.append(svg("rect", { class: "light", width: 360, height: 360 }));
    let dark = "";
    for (let i = 0; i < 64; i++) {
      if ((Math.floor(i / 8) + i) % 2) dark += `M${(i % 8) * SIZE} ${Math.floor(i / 8) * SIZE}h45v45h-45z`;
    }
    this.element.append(svg("path", { class: "dark", d: dark }));
    this.marks = svg("g");
    this.men = svg("g");
    this.element.append(this.marks, this.men);
    if (coordinates) this.element.append(this.#coordinates());
  }

  #coordinates() {
    const group = svg("g", { class: "coordinates" });
    for (let i = 0; i < 8; i++) {
      group.append(svg("text", { x: -8, y: i * SIZE + 27 }, String(8 - i)));
      group.append(svg("text", { x: i * SIZE + 22.5, y: 373 }, FILES[i]));
    }
    return group;
  }

  show({ placement, last = null, marked = [], wrong = [], label = "" }) {
    const letters = squares(placement);
    for (let i = 0; i < 64; i++) {
      if (letters[i] === this.#letters[i]) continue;
      this.#men[i]?.remove();
      this.#men[i] = letters[i] === " " ? null : this.#man(letters[i], i);
    }
    this.#letters = letters;
    const from = last ? [last.slice(0, 2), last.slice(2, 4)] : [];
    const marks = [...from.map((s) => [s, "last"]), ...marked.map((s) => [s, "marked"]), ...wrong.map((s) => [s, "wrong"])];
    const key = JSON.stringify(marks);
    if (key !== this.#marks) {
      this.#marks = key;
      this.marks.replaceChildren(...marks.filter(([s]) => /^[a-h][1-8]$/.test(s)).map(([s, kind]) => this.#mark(s, kind)));
    }
    this.name(label);
  }

  /** Takes everything off the squares, until the next `show`; the board keeps its place and its label. */
  clear(label) {
    this.men.replaceChildren();
    this.marks.replaceChildren();
    this.#letters = Array(64).fill(" ");
    this.#men = Array(64).fill(null);
    this.#marks = "";
    this.name(label);
  }

  /** What is said of the board to those who do not see it. */
  name(label) {
    if (this.element.getAttribute("aria-label") !== label) this.element.setAttribute("aria-label", label);
  }

  /** The name of the square that was clicked; none beside the board. */
  squareAt(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.element.getScreenCTM().inverse());
    const [file, row] = [Math.floor(x / SIZE), Math.floor(y / SIZE)];
    return file >= 0 && file < 8 && row >= 0 && row < 8 ? nameOf(row * 8 + file) : null;
  }

  #mark(square, kind) {
    const i = indexOf(square);
    return svg("rect", { class: kind, x: (i % 8) * SIZE, y: Math.floor(i / 8) * SIZE, width: SIZE, height: SIZE });
  }

  #man(letter, i) {
    const side = letter < "a" ? "w" : "b";
    const place = { x: (i % 8) * SIZE, y: Math.floor(i / 8) * SIZE, width: SIZE, height: SIZE };
    const man = svg("use", { class: side, href: `#${letter.toLowerCase()}`, ...place });
    this.men.append(man);
    return man;
  }
}
