// What the page says, in English and Russian.

import { remembered } from "./dom.js";

const WORDS = {
  skip: ["Skip to the boards", "К доскам"],
  boards: ["Boards", "Доски"],
  history: ["History", "История"],
  language: ["RU", "EN"],
  language_name: ["Русский", "English"],
  sound_on: ["Sound is on", "Звук включён"],
  sound_off: ["Sound is off", "Звук выключен"],
  theme: ["Light or dark", "Светлая или тёмная"],
  tally: ["boards: {boards} · open irregularities: {open} · no link: {away}", "досок: {boards} · открытых нарушений: {open} · нет связи: {away}"],
  all: ["All", "Все"],
  attention: ["With irregularities", "С нарушениями"],
  playing: ["Playing", "Играют"],
  finished: ["Finished", "Закончены"],
  show: ["Show", "Показать"],
  find: ["Find a board or player", "Найти доску или игрока"],
  nothing: ["Nothing here.", "Здесь ничего нет."],
  waiting: ["Waiting for boards. They appear here as soon as a gateway speaks.", "Ждём доски. Они появятся, как только заговорит шлюз."],
  board: ["Board {id}", "Доска {id}"],
  white: ["White", "Белые"],
  black: ["Black", "Чёрные"],
  no_clock: ["no clock", "нет часов"],
  no_game: ["No game", "Партии нет"],
  away: ["No link", "Нет связи"],
  gateway_away: ["Gateway away", "Шлюз недоступен"],
  asking: ["An irregularity is open; its details are being fetched.", "Есть открытое нарушение; подробности запрашиваются."],
  asking_away: ["An irregularity is open; its details are known when the gateway is back.", "Есть открытое нарушение; подробности станут известны, когда вернётся шлюз."],
  asking_untold: ["An irregularity is open; the gateway does not tell its details (it takes no commands).", "Есть открытое нарушение; шлюз не сообщает подробностей (он не принимает команд)."],
  past_asked: ["What happened before is being asked for.", "То, что было раньше, запрашивается."],
  past_away: ["The gateway is away. Position and moves are as it last told them; what else happened is known when it is back.", "Шлюз недоступен. Позиция и ходы — по его последним данным; остальное станет известно, когда он вернётся."],
  past_untold: ["The gateway does not tell what happened before this page was started (it takes no commands).", "Шлюз не сообщает, что было до запуска этой страницы (он не принимает команд)."],
  past_hall: ["Not everything is known yet: board {boards}.", "Известно ещё не всё: доска {boards}."],
  cut: ["The gateway {name} sends more than this page can keep: not all of its boards are shown. Is it one of yours? The rights on the broker say who may publish there.", "Шлюз {name} присылает больше, чем эта страница может хранить: показаны не все его доски. Это ваш шлюз? Кто может публиковать, определяют права у брокера."],
  rival: ["Two gateways are called {name}: the one that is shown, and another on the machine {host}, which publishes nothing. Give each a name of its own.", "Два шлюза называются {name}: тот, который показан, и другой, на компьютере {host}, который ничего не публикует. Дайте каждому своё имя."],
  doubled: ["Two brokers have a gateway called {name}; one of them is not shown. Give them different names.", "У двух брокеров есть шлюз {name}; один из них не показан. Дайте им разные имена."],
  broadcast: ["Broadcast", "Трансляция"],
  push_card: ["not on lichess", "нет на lichess"],
  push_game: ["lichess took it at {time}, moves: {n}.", "lichess принял в {time}, ходов: {n}."],
  push_game_refused: ["lichess does not take it: {error}. The other games go on; look at {file}, and take moves back if they are wrong.", "lichess не принимает партию: {error}. Остальные партии транслируются; проверьте {file} и верните неверные ходы."],
  push_begins: ["lichess ({round}): nothing was sent yet.", "lichess ({round}): ещё ничего не отправлено."],
  push_taken: ["lichess ({round}): games taken: {n}, at {time}.", "lichess ({round}): в {time} принято партий: {n}."],
  push_refused: ["Not taken: board {boards}.", "Не приняты: доска {boards}."],
  push_error: ["lichess ({round}): nothing is taken: {error}", "lichess ({round}): ничего не принято: {error}"],
  push_stuck: ["lichess ({round}): nothing is taken since {time}: {error}", "lichess ({round}): с {time} ничего не принимается: {error}"],
  start: ["Start position", "Начальная позиция"],
  illegal_mark: ["illegal", "невозможный"],
  back: ["All boards", "Все доски"],
  before: ["Before", "До"],
  now: ["On the board", "На доске"],
  then: ["When it happened", "В момент нарушения"],
  live: ["On the board now", "Сейчас на доске"],
  should: ["As it should stand", "Как должно стоять"],
  record: ["By the record", "По записи"],
  squares_differ: ["{n} squares differ: {squares}", "отличаются поля ({n}): {squares}"],
  as_recorded: ["The board stands as the game does.", "Доска соответствует партии."],
  certain: ["Certain", "Достоверно"],
  probable: ["Probable", "Вероятно"],
  suspected: ["Needs a witness", "Нужен свидетель"],
  open: ["Open", "Открыто"],
  restored: ["Put right", "Исправлено"],
  stands: ["Stands", "Позиция остаётся"],
  dismissed: ["Dismissed", "Отклонено"],
  superseded: ["Overtaken", "Снято ходом событий"],
  articles: ["Articles", "Статьи"],
  half_move: ["Half-move {n}", "Полуход {n}"],
  penalty: ["Penalty", "Наказание"],
  times: ["Times to propose", "Предлагаемое время"],
  times_then: ["Times at the press", "Время при нажатии"],
  times_else: ["Or the present times", "Или нынешнее время"],
  provisional: ["Provisional: it is being found out whether mate is possible.", "Предварительно: выясняется, возможен ли мат."],
  amended: ["The ruling was amended.", "Решение уточнено."],
  dismiss: ["Dismiss", "Отклонить"],
  dismiss_what: ["There was no irregularity: it does not count.", "Нарушения не было: оно не засчитывается."],
  accept: ["Accept the position", "Принять позицию"],
  accept_what: ["The position stands as it is on the board.", "Позиция остаётся такой, как на доске."],
  raised: ["Raised by the opponent", "Заявил соперник"],
  raised_what: ["The opponent claimed it, not the system.", "На нарушение указал соперник, а не система."],
  report: ["Report…", "Сообщить…"],
  report_title: ["What did you see at board {id}?", "Что произошло на доске {id}?"],
  report_kind: ["What happened", "Что произошло"],
  report_who: ["Who (for a claim: the claimant)", "Кто (при требовании: заявитель)"],
  unclear: ["Follows from the record", "Следует из записи"],
  result: ["Result…", "Результат…"],
  result_title: ["How did the game at board {id} end?", "Как закончилась партия на доске {id}?"],
  retract: ["Take back…", "Вернуть ходы…"],
  retract_title: ["After which half-move does board {id} go on?", "С какого полухода продолжает доска {id}?"],
  print: ["Print the report", "Печать протокола"],
  send: ["Send", "Отправить"],
  cancel: ["Cancel", "Отмена"],
  done: ["Done: {verb}, board {id}.", "Выполнено: {verb}, доска {id}."],
  refused: ["Refused ({code}): {message}", "Отказано ({code}): {message}"],
  moves: ["Moves", "Ходы"],
  no_moves: ["No moves yet.", "Ходов ещё нет."],
  cases: ["Closed irregularities", "Закрытые нарушения"],
  no_cases: ["None.", "Нет."],
  notices: ["Notices", "Сообщения"],
  when: ["When", "Когда"],
  what: ["What", "Что"],
  status: ["Status", "Состояние"],
  every_board: ["Every board", "Все доски"],
  every_kind: ["Every kind", "Все виды"],
  every_status: ["Open and closed", "Открытые и закрытые"],
  closed: ["Closed", "Закрытые"],
  outage_page: ["No connection to the server since {time}. What you see is old; it comes back by itself.", "Нет связи с сервером с {time}. Данные устарели; связь восстановится сама."],
  outage_broker: ["The broker is away ({address}). What you see is old; nothing is lost.", "Брокер недоступен ({address}). Данные устарели; ничего не потеряно."],
  outage_gateway: ["Gateway {name} is away.", "Шлюз {name} недоступен."],
  health: ["{name}: {message}", "{name}: {message}"],
  alarm: ["Board {id}: {title}", "Доска {id}: {title}"],
  report_head: ["Incident report", "Протокол нарушения"],
  report_game: ["Game", "Партия"],
  report_time: ["Time", "Время"],
  report_found: ["Found", "Обнаружено"],
  report_no: ["game {n}", "партия {n}"],
  every_day: ["Every day", "Все дни"],
  day: ["Day", "День"],
  report_person: ["By a person; the arbiter decides.", "Человеком; решение за арбитром."],
  report_by: ["By the system (sensors of board and clock); the arbiter decides.", "Системой (датчики доски и часов); решение за арбитром."],
  report_decision: ["Decision of the arbiter", "Решение арбитра"],
  report_sign: ["Arbiter", "Арбитр"],
  report_so_far: ["Moves so far", "Ходы до этого"],
  report_version: ["Id", "Номер"],
  empty_board: ["Nothing stands on the board", "На доске ничего нет"],
  man_K: ["K", "Кр"], man_Q: ["Q", "Ф"], man_R: ["R", "Л"], man_B: ["B", "С"], man_N: ["N", "К"], man_P: ["", ""],
  penalty_none: ["None", "Без наказания"],
  penalty_time: ["{s} seconds to {side}", "{s} секунд {to}"],
  to_white: ["White", "белым"],
  to_black: ["Black", "чёрным"],
  penalty_loss: ["Loss of the game", "Поражение"],
  penalty_draw: ["Draw", "Ничья"],
  penalty_arbiter: ["At the arbiter's discretion", "На усмотрение арбитра"],
  keys: ["Keys: arrows, Enter, n next open, h history, Esc back", "Клавиши: стрелки, Enter, n — следующее, h — история, Esc — назад"],
};

// What only a person can see.
export const REPORTS = {
  two_hands: ["Two hands used", "Ход двумя руками"],
  press_with_other_hand: ["Clock pressed with the other hand", "Часы нажаты другой рукой"],
  touch_move: ["Touch-move", "Тронул — ходи"],
  rook_first_castling: ["Rook touched before the king", "Рокировка начата с ладьи"],
  illegal_move: ["Illegal move", "Невозможный ход"],
  pieces_displaced: ["Pieces displaced", "Фигуры смещены"],
  colours_reversed: ["Colours reversed", "Перепутан цвет фигур"],
  threefold_claim: ["Claim: threefold repetition", "Требование: троекратное повторение"],
  fifty_claim: ["Claim: fifty moves", "Требование: 50 ходов"],
  flag_fall: ["Flag fall", "Падение флажка"],
  pause_without_reason: ["Clock paused without reason", "Часы остановлены без причины"],
  clock_setting_wrong: ["Wrong clock setting", "Неверная установка часов"],
  inverted_rook_promotion: ["Upside-down rook", "Перевёрнутая ладья"],
  claim_from_screen: ["Claim based on a display", "Требование по показаниям экрана"],
  late_arrival: ["Late arrival", "Опоздание"],
  electronic_device: ["Electronic device", "Электронное устройство"],
  not_recording: ["Moves not recorded", "Ходы не записываются"],
  disturbing: ["Opponent disturbed", "Помехи сопернику"],
  draw_offer_irregular: ["Irregular draw offer", "Неправильное предложение ничьей"],
  other: ["Other: see the note", "Другое: см. примечание"],
};

export let language = remembered.get("language", navigator.language?.startsWith("ru") ? "ru" : "en");

export function setLanguage(name) {
  language = name;
  remembered.set("language", name);
  document.documentElement.lang = name;
}

const pick = (pair) => pair[language === "ru" ? 1 : 0];

/** A phrase with its slots filled. */
export function t(key, slots = {}) {
  const text = pick(WORDS[key] ?? [key, key]);
  return text.replace(/\{(\w+)\}/g, (_, slot) => slots[slot] ?? "");
}

/** From where to where a half-move went. */
export const squaresOf = (uci) => `${uci.slice(0, 2)}‑${uci.slice(2)}`;

/** A half-move without a name, as it was seen. */
export const seenMove = (uci) => `${squaresOf(uci)} (${t("illegal_mark")})`;

export const reportName = (kind) => pick(REPORTS[kind]);

/** Title and advice of an irregularity. */
export function told(irregularity) {
  const text = irregularity?.text ?? {};
  return text[language] ?? text.en ?? { title: irregularity?.kind ?? "", advice: "" };
}

/** Milliseconds as a clock shows them: tenths only when it matters. */
export function clockText(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3600);
  return `${hours}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** Only a person can see it; of other kinds what is certain where the sensors alone only suspect. */
export const isReported = ({ kind, certainty }) =>
  ["press_with_other_hand", "rook_first_castling", "threefold_claim", "fifty_claim", "pause_without_reason",
    "clock_setting_wrong", "inverted_rook_promotion", "claim_from_screen"].includes(kind)
  || (["two_hands", "touch_move"].includes(kind) && certainty === "certain");

// Days before months, and no afternoon: what an arbiter writes down is read in other countries, too.
const place = () => (language === "ru" ? "ru" : "en-GB");

/** The time of day. */
export const dayTime = (iso) =>
  iso ? new Date(iso).toLocaleTimeString(place(), { hour: "2-digit", minute: "2-digit", second: "2-digit" }) : "";

/** The day of an event. */
export const dayText = (iso) => (iso ? new Date(iso).toLocaleDateString(place(), { dateStyle: "medium" }) : "");

/** The time of an event: that of the day, and the day where it is another one. */
export function timeText(iso, t) {
  if (iso) return dayText(iso) === dayText(new Date()) ? dayTime(iso) : `${dayText(iso)}, ${dayTime(iso)}`;
  return t == null ? "" : `${t.toFixed(1)} s`;
}
