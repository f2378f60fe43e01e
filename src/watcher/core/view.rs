//! The present states of a board, as subscribers receive them.

use super::{Core, phase::Phase};
use shakmaty::{CastlingMode, Color};

use crate::{
    event::GameResult,
    families::Protocol,
    game::{Pgn, PgnMove, PgnStart},
    time::Millis,
    watcher::{
        arrays::array_named,
        explain::Account,
        game::{Made, record::GameRecord},
        outbox::wall_clock,
        state::{BoardInfo, GameView, HardwareView, Model, PositionView, Status},
    },
};

/// The hypotheses at `now`; none where there is no game.
pub(in crate::watcher) fn account(core: &Core, now: Millis) -> Option<Account> {
    let (sensed, out) = (&core.world.board.sensed, &core.play.out);
    let game = core.play.phase.game()?;
    Some(Account {
        waits: out.waits.clone(),
        ..game.course.account(sensed, now, None, out)
    })
}

pub(in crate::watcher) fn status(core: &Core) -> Status {
    if core.contact.connected {
        Status::Online
    } else {
        Status::Offline
    }
}

pub(in crate::watcher) fn info(core: &Core) -> BoardInfo {
    let (battery, clock_battery_low) = core.hardware.batteries();
    BoardInfo {
        battery,
        clock_battery_low,
        model: match core.world.settings.protocol {
            Protocol::Occ1 => Some(Model::Occ1),
            Protocol::Chesslink => Some(Model::Chesslink),
            Protocol::Chessnut => Some(Model::Chessnut),
            Protocol::Dgt => core.contact.identity.serial().map(Model::of_serial),
        },
        serial: core.contact.identity.serial().map(str::to_string),
        firmware: core.contact.firmware(),
        port: core.contact.link.clone(),
    }
}

pub(in crate::watcher) fn hardware(core: &Core) -> HardwareView {
    core.hardware
        .view(info(core).firmware, &core.play.phase, &core.world.board.sensed)
}

pub(in crate::watcher) fn position(core: &Core) -> PositionView {
    if core.world.board.raw.is_none() {
        return PositionView::default();
    }
    let seen = core.world.board.sensed.placement();
    let Phase::Game(game) = &core.play.phase else {
        return PositionView {
            placement: Some(array_named(seen).fen()),
            ..PositionView::default()
        };
    };
    let stand = game.course.record.stand();
    let placement = Some(seen.named_by(game.course.lines.best().placement()).fen());
    let differing = stand.placement().differing(seen);
    let mut problems: Vec<String> = differing.into_iter().map(|s| format!("square:{s}")).collect();
    problems.extend(
        game.cases
            .open
            .iter()
            .map(|open| format!("irregularity:{}", open.id)),
    );
    let fen = differing.is_empty().then(|| stand.fen());
    PositionView {
        placement,
        fen,
        problems,
    }
}

pub(in crate::watcher) fn game(core: &Core) -> GameView {
    let Phase::Game(game) = &core.play.phase else {
        return GameView {
            last_seq: core.play.out.seq,
            ..GameView::default()
        };
    };
    let open = game.cases.open.iter().map(|open| open.id.clone()).collect();
    let (course, result) = (&game.course, game.outcome.result);
    of_record(course.number, &course.record, result, open, core.play.out.seq)
}

/// Game `number`, with the ids of the irregularities that are `open` in it.
pub(super) fn of_record(
    number: u32,
    record: &GameRecord,
    result: Option<GameResult>,
    open: Vec<String>,
    last_seq: u64,
) -> GameView {
    GameView {
        game: Some(number),
        start_fen: Some(record.start.fen()),
        chess960: record.mode() == CastlingMode::Chess960,
        moves: record.iter().map(|made| made.uci.to_string()).collect(),
        san: record.iter().map(Made::san_text).collect(),
        fen: Some(record.stand().fen()),
        to_move: Some(record.stand().turn().into()),
        result: Some(result.unwrap_or(GameResult::Open)),
        open_irregularities: open,
        last_seq,
    }
}

pub(in crate::watcher) fn pgn(core: &Core) -> Option<String> {
    let Phase::Game(game) = &core.play.phase else {
        return None;
    };
    let moves = game.course.record.iter().enumerate().map(|(i, made)| PgnMove {
        san: made.san_text(),
        uci: made.uci.to_string(),
        fen: made.stand.fen(),
        clock_ms: made.clock.map(|clock| match game.course.record.mover(i + 1) {
            Color::White => clock.white_ms,
            Color::Black => clock.black_ms,
        }),
        used_ms: None,
    });
    let [white, black] = &game.table.players;
    let began = wall_clock(&core.world.settings, game.course.began - core.play.out.before);
    let start_fen = game.course.record.start.fen();
    let start = PgnStart {
        board: &core.world.settings.board,
        number: game.course.number,
        time: began.as_deref(),
        players: [white.as_deref(), black.as_deref()],
        event: game.table.event.as_deref(),
        round: game.table.round,
        fen: &start_fen,
        chess960: game.course.record.mode() == CastlingMode::Chess960,
    };
    let pgn = Pgn {
        moves: moves.collect(),
        ..Pgn::begun(&start)
    };
    Some(pgn.ended(game.outcome.result.unwrap_or(GameResult::Open)).text())
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{Message, PieceCode},
        time::Millis,
        watcher::{Settings, Watcher},
    };

    #[test]
    fn the_pgn_has_the_names_of_the_table_and_the_day() {
        let settings = Settings {
            board: "7".into(),
            players: [Some("Zimmer, A.".into()), Some("Berg \"B\"".into())],
            epoch_ms: Some(1_795_269_600_000),
            ..Settings::default()
        };
        let mut watcher = Watcher::new(settings, None);
        let mut squares = [PieceCode::EMPTY; 64];
        for (i, piece) in [8, 9, 10, 12, 11, 10, 9, 8].into_iter().enumerate() {
            (squares[i], squares[8 + i]) = (PieceCode(piece), PieceCode(7));
            (squares[56 + i], squares[48 + i]) = (PieceCode(piece - 6), PieceCode(1));
        }
        let mut bytes = Vec::new();
        Message::Dump(&squares).encode(&mut bytes);
        watcher.handle_link_up(Millis(0), "port");
        watcher.handle_bytes(Millis(100), &bytes);
        watcher.handle_timeout(Millis(1000));
        // A game begins with its first move: e2-e4.
        for (at, square, piece) in [(5000, 52, PieceCode::EMPTY), (5500, 36, PieceCode(1))] {
            let mut bytes = Vec::new();
            Message::Field { square, piece }.encode(&mut bytes);
            watcher.handle_bytes(Millis(at), &bytes);
        }
        watcher.handle_end(Millis(10_000));
        let pgn = watcher.pgn().unwrap();
        let tags =
            "[Date \"2026.11.21\"]\n[Round \"7.1\"]\n[White \"Zimmer, A.\"]\n[Black \"Berg \\\"B\\\"\"]";
        assert!(pgn.contains(tags), "{pgn}");
    }
}
