//! The JSON that the page gets.

use serde::Serialize;

use super::{
    board::Board,
    cases::CaseView,
    games::{GameDetail, GameLine, first_ply},
    hall::{BroadcastRound, Hall, ToldNotice, own_name},
    key::BoardKey,
    pushed::{PushView, PushedView},
};
use crate::{
    event::{Body, ClockState, Event, GameResult},
    laws::Side,
    watcher::BatteryView,
};

/// The whole hall, for a page that was just opened.
#[derive(Debug, Serialize)]
pub(crate) struct HallView {
    /// Boards in the order of their names.
    pub(crate) boards: Vec<BoardView>,
    /// Everything besides the boards.
    pub(crate) links: LinksView,
}

/// What has changed, for a page that has the rest.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeView {
    /// Boards that changed.
    pub(crate) boards: Vec<BoardView>,
    /// Everything besides the boards, if any of it changed.
    pub(crate) links: Option<LinksView>,
}

/// Gateways, brokers, pushes and the round.
#[derive(Debug, Serialize)]
pub(crate) struct LinksView {
    /// Gateways in the order of their names.
    pub(crate) gateways: Vec<GatewayView>,
    /// Addresses of brokers that are not connected.
    pub(crate) brokers_away: Vec<String>,
    /// What lichess says of the games that are pushed there.
    pub(crate) pushes: Vec<PushView>,
    /// The broadcasts that the page's own program writes.
    pub(crate) own: Vec<OwnView>,
}

/// A broadcast that the page's own program writes.
#[derive(Debug, Serialize)]
pub(crate) struct OwnView {
    /// The name by which commands about its round mean it: `/GROUP`.
    pub(super) name: String,
    /// The number of its round.
    pub(super) round: u32,
    /// True where gateways of its boards tell a round, which it follows.
    pub(super) follows: bool,
}

/// A gateway.
#[derive(Debug, Serialize)]
pub(crate) struct GatewayView {
    name: String,
    online: bool,
    version: Option<String>,
    /// True where it takes commands; null where it does not tell.
    commands: Option<bool>,
    /// The number of the present round; null where it does not tell.
    round: Option<u32>,
    notices: Vec<ToldNotice>,
    /// The machine of another gateway of the same name at its broker, which stands by.
    rival: Option<String>,
    /// True where another broker has a gateway of the same name, which the page does not show.
    doubled: bool,
    /// True where it sends more than the page can keep, so that not all of its boards are shown.
    cut: bool,
}

/// A board in the grid.
#[derive(Debug, Serialize)]
pub(crate) struct BoardView {
    gateway: String,
    board: String,
    /// True while board and gateway are online.
    online: bool,
    gateway_online: bool,
    game: Option<u32>,
    players: [Option<String>; 2],
    placement: Option<String>,
    /// The position of the record.
    fen: Option<String>,
    to_move: Option<Side>,
    plies: usize,
    /// Number of the first half-move: 2 for a game that begins with White's first move.
    first_ply: u32,
    last_uci: Option<String>,
    last_san: Option<String>,
    /// When the last half-move was recognised, if known.
    last_time: Option<String>,
    result: Option<GameResult>,
    clock: Option<ClockState>,
    /// How old the clock's reading is, in milliseconds.
    clock_age_ms: u64,
    problems: Vec<String>,
    /// Irregularities that wait for an arbiter.
    open: Vec<CaseView>,
    /// The code of the notice that asks the arbiter something about the game, until he has answered.
    asks: Option<&'static str>,
    /// How much the page knows of the events before it was opened.
    past: PastView,
    /// What lichess says of the board's game, if it is pushed there.
    lichess: Option<PushedView>,
}

/// How much the page knows of the events that it did not hear itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PastView {
    /// The page knows all that the gateway keeps.
    Told,
    /// The page asks for them.
    Asked,
    /// The page will ask as soon as the gateway is online.
    Away,
    /// The gateway does not tell them.
    Untold,
}

/// A board in full, for whoever looks at it closely.
#[derive(Debug, Serialize)]
pub(crate) struct DetailView {
    #[serde(flatten)]
    board: BoardView,
    /// The newest event of the board that is in this: a command is about what was seen.
    seq: u64,
    start_fen: Option<String>,
    chess960: bool,
    moves: Vec<MoveView>,
    cases: Vec<CaseView>,
    /// The games of the board, the present one first.
    games: Vec<GameLine>,
    /// True where other rules are configured than those by which the present game goes.
    rules_wait: bool,
    notices: Vec<NoticeView>,
    port: Option<String>,
    serial: Option<String>,
    battery: Option<BatteryView>,
    clock_battery_low: Option<bool>,
    pgn: String,
}

#[derive(Debug, Serialize)]
struct MoveView {
    uci: String,
    san: Option<String>,
}

#[derive(Debug, Serialize)]
struct NoticeView {
    time: Option<String>,
    /// The code; the page has words for it in other languages.
    code: String,
    text: String,
}

impl Hall {
    /// The whole hall.
    #[must_use]
    pub(crate) fn view(&self, now_ms: u64) -> HallView {
        HallView {
            boards: self.changed_boards(0, now_ms),
            links: self.links(),
        }
    }

    /// Boards that changed after `revision`.
    #[must_use]
    pub(crate) fn changed_boards(&self, revision: u64, now_ms: u64) -> Vec<BoardView> {
        let changed = self.boards.iter().filter(|(_, board)| board.revision > revision);
        changed
            .filter(|(key, _)| self.is_listed(key))
            .map(|(key, board)| self.board_view(key, board, now_ms))
            .collect()
    }

    /// Everything besides the boards, if any of it changed after `revision`.
    #[must_use]
    pub(crate) fn changed_links(&self, revision: u64) -> Option<LinksView> {
        let changed = self.brokers_revision > revision
            || self.gateways.values().any(|gateway| gateway.revision > revision);
        changed.then(|| self.links())
    }

    /// The broadcasts of this program, as commands name them.
    fn own_views(&self) -> Vec<OwnView> {
        let tells = |name: &String| {
            let gateway = self.gateways.get(name);
            gateway.is_some_and(|gateway| gateway.online && gateway.round.is_some())
        };
        let view = |(group, own): (&String, &BroadcastRound)| OwnView {
            name: own_name(group),
            round: own.round,
            follows: own.gateways.iter().any(tells),
        };
        self.own.iter().map(view).collect()
    }

    fn links(&self) -> LinksView {
        LinksView {
            gateways: self.gateway_views(),
            brokers_away: self.brokers_away(),
            pushes: self.pushes.views(),
            own: self.own_views(),
        }
    }

    /// What changed after `revision`; none where a page shows nothing of it.
    #[must_use]
    pub(crate) fn change(&self, revision: u64, now_ms: u64) -> Option<ChangeView> {
        let change = ChangeView {
            boards: self.changed_boards(revision, now_ms),
            links: self.changed_links(revision),
        };
        (!change.boards.is_empty() || change.links.is_some()).then_some(change)
    }

    /// One board in full.
    #[must_use]
    pub(crate) fn detail(&self, key: &BoardKey, now_ms: u64) -> Option<DetailView> {
        let board = self.boards.get(key)?;
        let game = &board.game;
        let moves = game.moves.iter().zip(&game.san).map(|(uci, san)| MoveView {
            uci: uci.clone(),
            san: san.clone(),
        });
        Some(DetailView {
            board: self.board_view(key, board, now_ms),
            seq: board.seen(),
            start_fen: game.start_fen.clone(),
            chess960: game.chess960,
            moves: moves.collect(),
            cases: board.cases(key),
            games: board.games(),
            rules_wait: board.rules_wait(),
            notices: board.events.values().rev().filter_map(notice).take(50).collect(),
            port: board.info.port.clone(),
            serial: board.info.serial.clone(),
            battery: board.info.battery,
            clock_battery_low: board.info.clock_battery_low,
            pgn: board.pgn.clone(),
        })
    }

    /// One game of a board, with all its half-moves.
    #[must_use]
    pub(super) fn game(&self, key: &BoardKey, number: u32) -> Option<GameDetail> {
        self.boards.get(key)?.game_view(key, number)
    }

    /// All irregularities, the newest first.
    #[must_use]
    pub(crate) fn cases(&self) -> Vec<CaseView> {
        let mut cases: Vec<_> = self.listed().flat_map(|(key, board)| board.cases(key)).collect();
        cases.sort_by(|a, b| b.time.cmp(&a.time));
        cases
    }

    fn board_view(&self, key: &BoardKey, board: &Board, now_ms: u64) -> BoardView {
        let game = &board.game;
        let gateway_online = self.is_online(&key.gateway);
        BoardView {
            gateway: key.gateway.clone(),
            board: key.board.clone(),
            online: board.online == Some(true) && gateway_online,
            gateway_online,
            game: game.game,
            players: board.players(),
            placement: board.position.placement.clone(),
            fen: game.fen.clone(),
            to_move: game.to_move,
            plies: game.moves.len(),
            first_ply: first_ply(game.start_fen.as_deref()),
            last_uci: game.moves.last().cloned(),
            last_san: game.san.last().cloned().flatten(),
            last_time: board.last_time(),
            result: game
                .result
                .or_else(|| board.forfeited().map(|(_, result)| result)),
            clock: board.counted_from.map(|reading| reading.clock),
            clock_age_ms: board
                .counted_from
                .map_or(0, |reading| now_ms.saturating_sub(reading.at_ms)),
            problems: board.position.problems.clone(),
            open: board.open_cases(key),
            asks: board
                .asks()
                .filter(|asks| *asks != crate::event::notice::CLOCK_STANDS || !board.clock_runs()),
            past: match board.missing() {
                Some(_) if gateway_online => PastView::Asked,
                Some(_) => PastView::Away,
                None if board.is_untold => PastView::Untold,
                None => PastView::Told,
            },
            lichess: self.pushes.of(&format!("{}/{}", key.gateway, key.board)),
        }
    }

    fn gateway_views(&self) -> Vec<GatewayView> {
        let views = self.gateways.iter().map(|(name, gateway)| GatewayView {
            name: name.clone(),
            online: gateway.online,
            version: gateway.version.clone(),
            commands: gateway.commands,
            round: gateway.round,
            notices: gateway.notices.clone(),
            rival: gateway.rival.clone(),
            doubled: self.owners.is_doubled(name),
            cut: self.shares.is_cut(name),
        });
        views.collect()
    }

    fn brokers_away(&self) -> Vec<String> {
        let away = self.brokers.iter().filter(|(_, connected)| !**connected);
        away.map(|(address, _)| address.clone()).collect()
    }
}

impl Board {
    /// When the last half-move of the record was said.
    fn last_time(&self) -> Option<String> {
        let (game, plies) = (self.game.game?, self.game.moves.len());
        let told = self
            .events
            .values()
            .rev()
            .filter(|event| event.game == Some(game));
        let mut moves = told.filter_map(|event| match &event.body {
            Body::Move(made) => Some((made, event)),
            _ => None,
        });
        let (_, event) = moves.find(|(made, _)| made.ply as usize == plies)?;
        event.time.clone()
    }
}

fn notice(event: &Event) -> Option<NoticeView> {
    let (code, text) = match &event.body {
        Body::Notice { code, message } => (code.clone(), message.clone()),
        Body::BoardDisconnected { reason } => ("board_disconnected".into(), reason.clone()),
        _ => return None,
    };
    Some(NoticeView {
        time: event.time.clone(),
        code,
        text,
    })
}
