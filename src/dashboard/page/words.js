// What the page says, in English and Russian.

import { remembered } from "./dom.js";

const WORDS = {
  skip: ["Skip to the boards", "К доскам"],
  boards: ["Boards", "Доски"],
  wall: ["Wall", "Стена"],
  age_s: ["{s} s", "{s} с"],
  age_m: ["{m} min", "{m} мин"],
  age_h: ["{h} h {m} min", "{h} ч {m} мин"],
  age_d: ["{d} d", "{d} д"],
  dismiss_button: ["Dismiss: there was no offence", "Отклонить: нарушения не было"],
  accept_button: ["Accept the position as it stands", "Принять позицию на доске"],
  raised_button: ["Raised by the opponent", "Заявил соперник"],
  takes_no_commands: ["The gateway {name} takes no commands. To allow them write `commands = true` under [gateway] in its configuration, and start it again.", "Шлюз {name} не принимает команд. Чтобы разрешить их, напишите `commands = true` в разделе [gateway] его конфигурации и перезапустите его."],
  read_only: ["Your link is for reading only.", "Ваша ссылка — только для просмотра."],
  not_yours: ["What is grey is for arbiters: your link is an operator's.", "Серые кнопки — для арбитров: ваша ссылка — операторская."],
  remove: ["Remove {name} from this page…", "Убрать {name} с этой страницы…"],
  remove_title: ["Is the gateway {name} gone for good?", "Шлюз {name} больше не вернётся?"],
  remove_what: ["Its boards and open irregularities are no longer shown, to anybody who uses this page. Nothing is deleted: its record stays in its journal and on the broker, and it comes back to the page by itself when it is online again.", "Его доски и открытые нарушения больше не показываются никому, кто пользуется этой страницей. Ничего не удаляется: записи остаются в его журнале и у брокера, а сам он вернётся на страницу, когда снова будет на связи."],
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
  report_ply: ["Which half-move", "Какой полуход"],
  report_written: ["The move that the claimant wrote down", "Ход, записанный заявителем"],
  report_unwritten: ["None: the position is on the board", "Нет: позиция уже на доске"],
  note: ["Note", "Примечание"],
  note_act: ["Note…", "Примечание…"],
  note_title: ["What is to be written down at board {id}?", "Что записать на доске {id}?"],
  reason: ["Reason, if it is to be written down", "Причина, если её нужно записать"],
  choose: ["Choose…", "Выберите…"],
  result: ["Result…", "Результат…"],
  the_result: ["Result", "Результат"],
  quoted: ["“{words}”", "«{words}»"],
  result_title: ["How did game {n} at board {id} end?", "Как закончилась партия {n} на доске {id}?"],
  result_button: ["Enter the result", "Записать результат"],
  "result_1-0": ["1-0: {white} wins", "1-0: победа — {white}"],
  "result_0-1": ["0-1: {black} wins", "0-1: победа — {black}"],
  "result_1/2-1/2": ["½-½: draw", "½-½: ничья"],
  "result_+/-": ["+/-: {white} wins by forfeit, {black} did not come", "+/-: победа без игры — {white}, не явился — {black}"],
  "result_-/+": ["-/+: {black} wins by forfeit, {white} did not come", "-/+: победа без игры — {black}, не явился — {white}"],
  "result_-/-": ["-/-: neither came", "-/-: не явились оба"],
  "result_0-0": ["0-0: both lose", "0-0: поражение обоим"],
  "result_*": ["*: over without a result", "*: закончена без результата"],
  resume: ["Take the result back…", "Отменить результат…"],
  resume_title: ["Take back the result of game {n} at board {id}?", "Отменить результат партии {n} на доске {id}?"],
  resume_what: ["The game goes on. What was played since the result is told then: nothing is lost.", "Партия продолжается. Сыгранное после результата тоже появится: ничего не потеряно."],
  resume_past_what: ["The game is without a result then. The present game goes on as it is.", "Партия останется без результата. Нынешняя партия продолжается."],
  new_game: ["A new game has begun", "Началась новая партия"],
  new_game_what: ["The game before ends without a result, unless you enter one. What was played since the pieces were set up belongs to the new game.", "Прежняя партия закончится без результата, если его не записать. Сыгранное после расстановки относится к новой партии."],
  it_goes_on: ["The game goes on…", "Партия продолжается…"],
  asks_set_up_without_result: ["The pieces were set up anew, and the game has no result", "Фигуры расставлены заново, а результата нет"],
  asks_set_up_without_result_what: ["It is kept as it is until somebody says how it ended, that it goes on, or that another game has begun.", "Запись не меняется, пока не сказано, чем партия закончилась, продолжается ли она или началась другая."],
  asks_result_contradicts: ["The board shows a result that contradicts the last ruling", "Результат на доске противоречит последнему решению"],
  asks_result_contradicts_what: ["Which is it? Enter the result, or take it back.", "Что верно? Запишите результат или отмените его."],
  forfeit: ["Forfeit in the next game…", "Неявка на следующую партию…"],
  games: ["Games", "Партии"],
  game_no: ["Game {n}", "Партия {n}"],
  half_moves: ["half-moves: {n}", "полуходов: {n}"],
  goes_on: ["goes on", "продолжается"],
  no_result: ["no result", "без результата"],
  go_through: ["Go through the moves, put them right", "Просмотреть и исправить ходы"],
  cases_of_game: ["Irregularities of this game", "Нарушения в этой партии"],
  game_incomplete: ["Not all of this game is known to the page, so its half-moves cannot be put right here. `dgt2mqtt pgn` on the gateway has them.", "Странице известна не вся партия, поэтому исправить ходы здесь нельзя. Они есть на шлюзе: `dgt2mqtt pgn`."],
  step_first: ["To the begin", "В начало"],
  step_back: ["One half-move back", "На полуход назад"],
  step_on: ["One half-move on", "На полуход вперёд"],
  step_last: ["To the end", "В конец"],
  correct: ["Moves put right", "Исправление ходов"],
  change_act: ["Change half-move {n}…", "Изменить полуход {n}…"],
  insert_act: ["Insert before half-move {n}…", "Вставить перед полуходом {n}…"],
  delete_act: ["Delete half-move {n}…", "Удалить полуход {n}…"],
  append_act: ["Add after the last…", "Добавить в конец…"],
  delete_title: ["Delete half-move {n}?", "Удалить полуход {n}?"],
  delete_what: ["{move} was not played. Those after it stay where they still can be played; else you are asked.", "{move} не было сыграно. Следующие ходы остаются, если они возможны; иначе последует вопрос."],
  changing: ["Instead of {move} (half-move {n})", "Вместо {move} (полуход {n})"],
  inserting: ["Before half-move {n}", "Перед полуходом {n}"],
  play_it: ["Play the half-move on the diagram, or choose it from the list.", "Сделайте ход на диаграмме или выберите из списка."],
  to_be_entered: ["To be entered: {moves}", "Будет записано: {moves}"],
  legal_moves: ["Legal moves here", "Возможные ходы"],
  choose_move: ["Choose a move…", "Выберите ход…"],
  no_legal_moves: ["None", "Нет"],
  no_position: ["The position could not be worked out: nothing was changed. Try again.", "Позицию определить не удалось: ничего не изменено. Попробуйте ещё раз."],
  promotes_to: ["What does the pawn become?", "Во что превращается пешка?"],
  illegal_tick: ["Illegal, but it was played and stands", "Невозможный, но сыгран и остаётся"],
  not_legal: ["{move} is not legal here. Tick the box if it was played and stands.", "{move} здесь невозможен. Если он сыгран и остаётся, отметьте это."],
  edit_send: ["Enter in the record", "Внести в запись"],
  edit_put: ["Take this one", "Выбрать"],
  edit_undo: ["Take the last one out", "Убрать последний"],
  edit_cancel: ["Cancel", "Отмена"],
  unplayable_title: ["Half-move {n} cannot be entered", "Полуход {n} внести нельзя"],
  unplayable_what: ["{move} cannot be played there. Choose another, or tick that it is illegal and stands. Nothing was changed.", "{move} там невозможен. Выберите другой или отметьте, что он невозможный и остаётся. Ничего не изменено."],
  understood: ["Understood", "Понятно"],
  rest_title: ["Half-move {n} does not follow any more", "Полуход {n} больше не подходит"],
  rest_what: ["{move} cannot be played in the position that comes of it. Nothing was changed so far. If it is wrong too, cancel, and change it first or with this one; or take it out with all after it, and enter what was played.", "{move} невозможен в получившейся позиции. Пока ничего не изменено. Если и он неверен, отмените и исправьте сначала его; или удалите его и всё после него и внесите сыгранное."],
  rest_button: ["Take out half-move {n} and all after it", "Удалить полуход {n} и все после него"],
  error_no_move: ["Half-move {n} ({move}) cannot be played there. Nothing was changed.", "Полуход {n} ({move}) там невозможен. Ничего не изменено."],
  error_closed: ["It is closed already: {how}, by {by}.", "Уже закрыто: {how}, {by}."],
  overtaken: ["Somebody was quicker: {how}, {by}, {time}.", "Вас опередили: {how}, {by}, {time}."],
  contradicts_title: ["The clock shows time left", "На часах ещё есть время"],
  contradicts_what: ["It shows {shown} for {side}. Did the flag fall nevertheless?", "На часах {shown} ({side}). Флажок всё же упал?"],
  contradicts_button: ["Yes, the flag fell", "Да, флажок упал"],
  an_arbiter: ["an arbiter", "арбитр"],
  by_board: ["board and clock", "доска и часы"],
  unanswered: ["Not answered in its game", "Без ответа в своей партии"],
  given: ["Penalty given", "Назначено"],
  journal: ["What was done", "Что сделано"],
  j_found: ["Found", "Обнаружено"],
  j_reported: ["Reported", "Заявлено"],
  j_reopened: ["Opened again", "Открыто снова"],
  j_counts: ["Not dismissed any more: it counts", "Отклонение отменено: засчитывается"],
  j_penalty: ["Penalty given: {penalty}", "Назначено: {penalty}"],
  j_penalty_undone: ["Penalty taken back", "Наказание отменено"],
  reopen: ["Open again", "Открыть снова"],
  reopen_what: ["What was said of its end is taken back.", "Сказанное о завершении отменяется."],
  reopen_button: ["Open again", "Открыть снова"],
  penalty_act: ["Penalty given…", "Назначить наказание…"],
  unpenalty_act: ["Take the penalty back…", "Отменить наказание…"],
  penalty_title: ["Which penalty was given at board {id}?", "Какое наказание назначено на доске {id}?"],
  penalty_button: ["Write it down", "Записать"],
  unpenalty_title: ["Take back the penalty at board {id}?", "Отменить наказание на доске {id}?"],
  unpenalty_button: ["Take the penalty back", "Отменить наказание"],
  penalty_seconds: ["Seconds", "Секунды"],
  penalty_to: ["In favour of", "В пользу"],
  penalty_kind_time: ["Time", "Время"],
  penalty_kind_loss: ["Loss of the game", "Поражение"],
  penalty_kind_draw: ["Draw", "Ничья"],
  penalty_kind_arbiter: ["Another one: see the note", "Другое: см. примечание"],
  dismiss_all: ["Dismiss all suspicions ({n})…", "Отклонить все подозрения ({n})…"],
  dismiss_all_title: ["Dismiss {n} suspicions at board {id}?", "Отклонить подозрения ({n}) на доске {id}?"],
  dismiss_all_what: ["Nobody saw an offence: none of them counts.", "Нарушений никто не видел: ни одно не засчитывается."],
  dismiss_all_button: ["Dismiss {n} suspicions", "Отклонить подозрения ({n})"],
  dismiss_all_done: ["Dismissed: {n}, board {id}.", "Отклонено: {n}, доска {id}."],
  reason_arbiter: ["by an arbiter", "по решению арбитра"],
  reason_kings_in_the_centre: ["kings in the centre", "короли в центре"],
  reason_special_piece: ["shown by a special piece", "показано особой фигурой"],
  reason_pieces_set_up_anew: ["the pieces were set up anew", "фигуры расставлены заново"],
  reason_new_game_by_arbiter: ["an arbiter began a new game", "арбитр начал новую партию"],
  reason_position_set_by_arbiter: ["an arbiter set a position", "арбитр задал позицию"],
  reason_checkmate: ["checkmate", "мат"],
  reason_stalemate: ["stalemate", "пат"],
  reason_dead_position: ["dead position", "мёртвая позиция"],
  reason_seventy_five_moves: ["seventy-five moves", "75 ходов"],
  reason_fivefold_repetition: ["fivefold repetition", "пятикратное повторение"],
  reason_moves_missed: ["moves were missed", "ходы пропущены"],
  report_began: ["Game begun", "Начало партии"],
  round_no: ["round {n}", "тур {n}"],
  report_round: ["game {n} of the day at this board", "{n}-я партия дня на этой доске"],
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
  keys: ["Keys: arrows, Enter, n next open, w wall, h history, Esc back", "Клавиши: стрелки, Enter, n — следующее, w — стена, h — история, Esc — назад"],
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

/** A half-move with its number as people write it: `12. Nf3`, `12… Nf6`. `i` counts from 0. */
export function moveName(first, i, move) {
  const ply = first + i;
  return `${Math.floor(ply / 2)}${ply % 2 ? "…" : "."} ${move.san ?? seenMove(move.uci)}`;
}

/** White's name (0) or Black's (1), or the colour. */
export const nameOf = (players, i) => players[i] ?? t(i ? "black" : "white");

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
