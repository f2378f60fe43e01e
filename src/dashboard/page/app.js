// Keeps the picture of the hall, and shows the page that the address names.

import { h, remembered, say, svg } from "./dom.js";
import { Grid } from "./grid.js";
import { Detail } from "./detail.js";
import { GamePage } from "./game.js";
import { History, Report } from "./history.js";
import { introduce, me } from "./lock.js";
import { showOutage as showAway } from "./outage.js";
import { roundButton, roundsHear } from "./pairings.js";
import { byName, isSerious, keyOf } from "./shown.js";
import { inOrder, wants } from "./sight.js";
import { Wall } from "./wall.js";
import { language, setLanguage, t, told } from "./words.js";

/** Nothing heard for so long, though the server speaks every five seconds: the connection is dead. */
const SILENCE_MS = 13_000;

const hall = { boards: new Map(), gateways: new Map(), brokersAway: [], pushes: [], own: [], heard: false };
const grid = new Grid();
const wall = new Wall();
const detail = new Detail();
const game = new GamePage();
const history = new History();
const report = new Report();
const main = document.getElementById("main");
const alarm = document.getElementById("alarm");

// --- what the server tells

let source;
let lastHeard = performance.now();
let lostSince = null;
let rung = null;

function connect() {
  source?.close();
  source = new EventSource("/api/stream");
  source.addEventListener("hall", (event) => {
    const view = JSON.parse(event.data);
    hall.boards.clear();
    hall.gateways.clear();
    hall.heard = true;
    take(view);
    // What the link is good for may have changed meanwhile.
    introduce().then(() => {
      show();
      roundsHear([]);
    });
  });
  source.addEventListener("change", (event) => take(JSON.parse(event.data)));
  source.addEventListener("alive", heard);
  source.addEventListener("error", () => {
    lost();
    if (source.readyState === EventSource.CLOSED) introduce();
  });
}

function heard() {
  lastHeard = performance.now();
  if (lostSince) {
    lostSince = null;
    showOutage();
  }
}

function lost() {
  lostSince ??= new Date();
  showOutage();
}

function take(view) {
  heard();
  const known = hall.boards.size;
  for (const board of view.boards ?? []) {
    board.clockAt = performance.now() - board.clock_age_ms;
    hall.boards.set(keyOf(board), board);
  }
  // Always in the order of their names, so that no list of them need be sorted for each half-move.
  if (hall.boards.size !== known) hall.boards = new Map([...hall.boards].sort(([, a], [, b]) => byName(a, b)));
  if (view.links) {
    hall.gateways = new Map(view.links.gateways.map((gateway) => [gateway.name, gateway]));
    hall.brokersAway = view.links.brokers_away;
    hall.pushes = view.links.pushes;
    hall.own = view.links.own;
    showOutage();
  }
  ring();
  show(view.boards);
  roundsHear(view.boards ?? []);
}

/** Sound and a spoken word for what is new and serious. */
function ring() {
  const open = new Map();
  for (const board of hall.boards.values()) {
    for (const item of board.open) if (isSerious(item)) open.set(item.id, [board, item]);
  }
  const fresh = [...open].filter(([id, [, item]]) => rung && !rung.has(id) && item.irregularity).map(([, pair]) => pair);
  // Those whose details are still to come ring when they are there.
  rung = new Set([...open].filter(([id, [, item]]) => item.irregularity || rung?.has(id)).map(([id]) => id));
  document.title = open.size ? `(${open.size}) dgt2mqtt` : "dgt2mqtt";
  if (!fresh.length) return;
  say(alarm, fresh.map(([board, item]) => t("alarm", { id: board.board, title: told(item.irregularity).title })).join(". "));
  if (remembered.get("sound", "off") === "on") beep();
}

let audio;
/** Two notes; a hall is quiet. */
function beep() {
  audio ??= new AudioContext();
  for (const [i, pitch] of [660, 880].entries()) {
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    const at = audio.currentTime + i * 0.16;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.0001, at);
    volume.gain.exponentialRampToValueAtTime(0.25, at + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + 0.15);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + 0.16);
  }
}

// --- what is shown

function route() {
  const parts = location.hash.replace(/^#\/?/, "").split("/");
  if (parts[0] === "board" && parts.length === 3) return { name: "board", key: `${parts[1]}/${parts[2]}` };
  if (parts[0] === "report" && parts.length === 4) return { name: "report", id: parts.slice(1).join("/"), key: `${parts[1]}/${parts[2]}` };
  if (parts[0] === "game" && parts.length >= 4) return { name: "game", key: `${parts[1]}/${parts[2]}`, number: parts[3], ply: parts[4] };
  return { name: ["history", "wall"].includes(parts[0]) ? parts[0] : "hall" };
}

/** `changed` are the boards that changed; without it everything is drawn anew. */
function show(changed) {
  const { name, key } = route();
  const element = { hall: grid, wall, board: detail, history, report, game }[name].element;
  const isNew = main.firstChild !== element;
  if (isNew) main.replaceChildren(element);
  document.body.classList.toggle("walled", name === "wall");
  const concerns = !changed || !key || changed.some((board) => keyOf(board) === key);
  showBar(name);
  if (isNew || !changed) {
    showOutage();
    draw();
  } else if (name === "hall" || name === "wall") drawInFrame();
  else if (concerns) drawSoon();
}

function draw() {
  const { name, key, id, number, ply } = route();
  if (name === "hall") grid.show(hall);
  else if (name === "wall") wall.show(hall);
  else if (name === "board") detail.show(hall, key);
  else if (name === "history") history.show(hall);
  else if (name === "game") game.show(hall, key, number, ply);
  else report.show(hall, id);
}

let frame = null;
/** What a full hall tells between two frames is drawn once. A page that nobody sees has no frames, and draws nothing. */
function drawInFrame() {
  frame ??= requestAnimationFrame(() => {
    frame = null;
    draw();
  });
}

let pending = null;
let drawn = 0;
/** What has to be fetched is not fetched more often than anybody reads; the history is of all boards, and costs most. */
function drawSoon() {
  const rest = route().name === "history" ? drawn + 1_000 - performance.now() : 0;
  pending ??= setTimeout(() => {
    [pending, drawn] = [null, performance.now()];
    // A server that has just been started knows no board yet.
    if (!lostSince) draw();
  }, Math.max(120, rest));
}

const tabs = document.getElementById("tabs");
const links = {
  hall: h("a", { href: "#/" }),
  wall: h("a", { href: "#/wall" }),
  history: h("a", { href: "#/history" }),
};
tabs.append(...Object.values(links));

function showBar(name) {
  say(document.getElementById("skip"), t("skip"));
  say(links.hall, t("boards"));
  say(links.wall, t("wall"));
  say(links.history, t("history"));
  for (const [page, link] of Object.entries(links)) {
    if (page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  let [open, away] = [0, 0];
  for (const board of hall.boards.values()) {
    open += board.open.length;
    away += Number(!board.online);
  }
  const tally = hall.heard ? t("tally", { boards: hall.boards.size, open, away }) : "…";
  // In whose name one answers at this tablet.
  say(document.getElementById("tally"), [me.name, tally].filter(Boolean).join(" · "));
  document.getElementById("tally").classList.toggle("hot", open > 0);
}

function showOutage() {
  showAway(hall, lostSince);
}

// --- the buttons at the top

const tools = document.getElementById("tools");
const sound = h("button", { type: "button", onclick: () => {
  remembered.set("sound", remembered.get("sound", "off") === "on" ? "off" : "on");
  if (remembered.get("sound") === "on") beep();
  showTools();
} });
const theme = h("button", { type: "button", onclick: () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "light" : "dark");
} });
const tongue = h("button", { type: "button", class: "tongue", onclick: () => {
  setLanguage(language === "ru" ? "en" : "ru");
  showTools();
  show();
} });
tools.append(sound, theme, tongue);

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  remembered.set("theme", name ?? "");
}

function showTools() {
  const on = remembered.get("sound", "off") === "on";
  for (const [button, icon, label] of [
    [sound, on ? "bell" : "mute", t(on ? "sound_on" : "sound_off")],
    [theme, "theme", t("theme")],
  ]) {
    button.replaceChildren(svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#${icon}` })));
    button.setAttribute("aria-label", label);
    button.title = label;
  }
  sound.setAttribute("aria-pressed", String(on));
  say(tongue, t("language"));
  tongue.setAttribute("aria-label", `${t("language")} ${t("language_name")}`);
  tongue.setAttribute("lang", language === "ru" ? "en" : "ru");
  tools.title = t("keys");
}

// --- keys, time, start

/** True while the page goes to the boards to find one. */
let finds = false;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  if (route().name === "game" && game.key(event)) {
    // It was the game's.
  } else if (event.key === "Escape" && route().name !== "hall") location.hash = "#/";
  else if (event.key === "h") location.hash = "#/history";
  else if (event.key === "w") location.hash = "#/wall";
  else if (event.key === "/") {
    if (route().name === "hall") grid.search.focus();
    else [finds, location.hash] = [true, "#/"];
  } else if (event.key === "n") {
    const open = inOrder(hall.boards.values()).filter(wants);
    const here = open.findIndex((board) => keyOf(board) === route().key);
    if (open.length) location.hash = `#/board/${keyOf(open[(here + 1) % open.length])}`;
  } else return;
  event.preventDefault();
});

/** The board that was opened from further down: there one goes on when one comes back to the boards. */
let leftAt = null;

window.addEventListener("hashchange", () => {
  const { name, key } = route();
  if (main.firstChild === grid.element) leftAt = scrollY > 0 ? key : null;
  show();
  if (name === "hall" && !finds && grid.goTo(leftAt)) return;
  (finds ? grid.search : main).focus({ preventScroll: true });
  finds = false;
  scrollTo(0, 0);
});

setInterval(() => {
  const name = route().name;
  if (name === "hall") grid.tick();
  if (name === "wall") wall.tick();
  if (name === "board") detail.tick(hall);
  if (performance.now() - lastHeard > SILENCE_MS) {
    lastHeard = performance.now();
    lost();
    connect();
  }
}, 250);

setLanguage(language);
tabs.append(roundButton(hall));
setTheme(remembered.get("theme", "") || null);
showTools();
await introduce();
show();
connect();
