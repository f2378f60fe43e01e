//! The objects of the interface, made from the hall.

use serde::Serialize;
use serde_json::{Value, json};

use super::followed::followed;
use crate::{
    dashboard::{Board, BoardKey, Hall},
    event::{Body, GameResult},
    laws::Side,
};

/// Number of the ordinary array among the 960.
const ORDINARY: u16 = 518;

/// A board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Eboard {
    pub(super) serialnr: String,
    source: Option<String>,
    state: &'static str,
    battery: Option<String>,
    comment: Option<String>,
    pub(super) board: Option<String>,
    pub(super) flipped: bool,
    pub(super) clock: Option<LivechessClock>,
}

/// A clock; times in whole seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LivechessClock {
    white: u64,
    black: u64,
    /// True while White's time runs, false while Black's does, null while the clock is stopped.
    run: Option<bool>,
    /// Unix time in milliseconds at which it was read.
    time: i64,
}

/// The present time by two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// The hall's own clock.
    pub(crate) hall_ms: u64,
    /// Unix time.
    pub(crate) unix_ms: i64,
}

impl Now {
    fn unix(self, at_ms: u64) -> i64 {
        let ago = i64::try_from(self.hall_ms.saturating_sub(at_ms)).unwrap_or(0);
        self.unix_ms - ago
    }
}

/// The name of a board: its serial number, or gateway and id where it has none.
pub(super) fn serial(key: &BoardKey, board: &Board) -> String {
    let own = board.info.serial.clone();
    own.unwrap_or_else(|| format!("{}-{}", key.gateway, key.board))
}

pub(super) fn eboard(hall: &Hall, key: &BoardKey, board: &Board, now: Now) -> Eboard {
    let online = board.online == Some(true) && hall.is_online(&key.gateway);
    Eboard {
        serialnr: serial(key, board),
        source: board.info.port.clone().filter(|_| online),
        state: if online { "ACTIVE" } else { "INACTIVE" },
        battery: None,
        comment: None,
        board: board.position.placement.clone(),
        flipped: false,
        clock: clock(board, now),
    }
}

pub(super) fn clock(board: &Board, now: Now) -> Option<LivechessClock> {
    let reading = board.clock?;
    let clock = reading.clock;
    Some(LivechessClock {
        white: clock.white_ms / 1000,
        black: clock.black_ms / 1000,
        run: clock.running.map(|side| side == Side::White),
        time: now.unix(reading.at_ms),
    })
}

/// All boards. Those that are online come first, because some clients take the first one whatever it is.
pub(super) fn eboards(hall: &Hall, now: Now) -> Vec<Eboard> {
    let boards = hall.listed().map(|(key, board)| eboard(hall, key, board, now));
    let mut boards: Vec<_> = boards.collect();
    boards.sort_by_key(|board| board.state != "ACTIVE");
    boards
}

/// An identifier that stays the same for the same name.
fn uuid(name: &str) -> String {
    // FNV-1a, twice with different beginnings, so that names of a hall do not collide by accident.
    let hash = |start: u64| {
        name.bytes().fold(start, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let (a, b) = (hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0xfff,
        b & 0xffff_ffff_ffff
    )
}

fn tournament_id(hall: &Hall) -> String {
    uuid(&hall.gateways.keys().cloned().collect::<Vec<_>>().join("/"))
}

/// The id of the present game, or of the game after it that was lost by default.
fn game_id(key: &BoardKey, board: &Board) -> String {
    let number = board.forfeited().map(|(number, _)| number).or(board.game.game);
    uuid(&format!("{}/{}/{}", key.gateway, key.board, number.unwrap_or(0)))
}

/// The name of the event, as the last game that has begun tells it.
fn event(hall: &Hall) -> String {
    let begun = hall.boards.values().filter_map(Board::event_name);
    begun
        .max_by(|a, b| a.0.cmp(&b.0))
        .map_or_else(|| "dgt2mqtt".to_owned(), |(_, event)| event)
}

/// The hall as one tournament with one round, the present one.
pub(super) fn tournaments(hall: &Hall) -> Value {
    json!([{ "uuid": tournament_id(hall), "description": event(hall), "rounds": 1 }])
}

pub(super) fn tournament(hall: &Hall, id: &str) -> Option<Value> {
    let serials: Vec<_> = hall.listed().map(|(key, board)| serial(key, board)).collect();
    (id == tournament_id(hall)).then(|| {
        json!({ "uuid": id, "name": event(hall), "description": event(hall), "location": null, "country": null,
                "rounds": 1, "eboards": serials })
    })
}

pub(super) fn round(hall: &Hall, id: &str, index: usize) -> Option<Value> {
    if id != tournament_id(hall) || index != 0 {
        return None;
    }
    let pairing = |(nr, (key, board)): (usize, (&BoardKey, &Board))| {
        let [white, black] = board.players().map(player);
        json!({ "nr": nr, "uuid": game_id(key, board), "white": white, "black": black,
                "live": board.game.game.is_some() && result(board).is_none(), "result": result(board) })
    };
    let pairings: Vec<_> = (1..).zip(hall.listed()).map(pairing).collect();
    Some(json!({ "nr": 1, "date": null, "pairings": pairings }))
}

fn player(name: Option<String>) -> Value {
    let name = name.unwrap_or_default();
    let (last, first) = match name.split_once(',') {
        Some((last, first)) => (last.trim(), Some(first.trim())),
        None => (name.trim(), None),
    };
    let last = (!last.is_empty()).then_some(last);
    json!({ "fname": first, "mname": null, "lname": last, "title": null, "federation": null, "gender": null, "fideid": null })
}

fn result(board: &Board) -> Option<&'static str> {
    let forfeited = board.forfeited().map(|(_, result)| result);
    match forfeited.or(board.game.result)? {
        GameResult::WhiteWins | GameResult::WhiteByForfeit => Some("WHITEWIN"),
        GameResult::BlackWins | GameResult::BlackByForfeit => Some("BLACKWIN"),
        GameResult::Draw => Some("DRAW"),
        GameResult::Open | GameResult::BothForfeit | GameResult::BothLost => None,
    }
}

/// A game of the round: its half-moves with the clock of the player who made each, where known.
pub(super) fn game(hall: &Hall, id: &str, now: Now) -> Option<Value> {
    let (_, board) = hall
        .boards
        .iter()
        .find(|(key, board)| game_id(key, board) == id)?;
    let view = &board.game;
    let black_begins = view.start_fen.as_deref().is_some_and(|fen| fen.contains(" b "));
    let clocks: std::collections::BTreeMap<u32, u64> = board
        .events
        .values()
        .filter(|event| event.game == view.game)
        .filter_map(|event| match &event.body {
            Body::Move(made) => {
                let white = made.ply.is_multiple_of(2) == black_begins;
                let clock = made.clock?;
                Some((
                    made.ply,
                    if white { clock.white_ms } else { clock.black_ms } / 1000,
                ))
            }
            _ => None,
        })
        .collect();
    let names = if board.forfeited().is_some() {
        Vec::new()
    } else {
        followed(view.start_fen.as_deref(), view.chess960, &view.moves, &view.san)
    };
    let moves: Vec<String> = (1..)
        .zip(names)
        .map(|(ply, san)| match clocks.get(&ply) {
            Some(seconds) => format!("{san} {seconds}"),
            None => san.to_owned(),
        })
        .collect();
    let number = if view.chess960 {
        view.start_fen.as_deref().and_then(number_of).unwrap_or(ORDINARY)
    } else {
        ORDINARY
    };
    Some(
        json!({ "chess960": number, "result": result(board), "comment": null, "clock": clock(board, now), "moves": moves }),
    )
}

/// Number of a Chess960 array (Scharnagl): bishops, queen, knights, in this order.
fn number_of(fen: &str) -> Option<u16> {
    let rank: Vec<char> = fen.split(' ').next()?.rsplit('/').next()?.chars().collect();
    if rank.len() != 8 {
        return None;
    }
    let bishops: Vec<usize> = (0..8).filter(|i| rank[*i] == 'B').collect();
    let light = bishops.iter().find(|i| *i % 2 == 1)? / 2;
    let dark = bishops.iter().find(|i| *i % 2 == 0)? / 2;
    let rest: Vec<char> = rank.iter().copied().filter(|c| *c != 'B').collect();
    let queen = rest.iter().position(|c| *c == 'Q')?;
    let rest: Vec<char> = rest.into_iter().filter(|c| *c != 'Q').collect();
    let knights: Vec<usize> = (0..rest.len()).filter(|i| rest[*i] == 'N').collect();
    let pairs = [
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 4),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
        (3, 4),
    ];
    let pair = pairs.iter().position(|(a, b)| knights == [*a, *b])?;
    u16::try_from(light + 4 * dark + 16 * queen + 96 * pair).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_their_numbers() {
        assert_eq!(number_of("rnbqkbnr/8/8/8/8/8/8/RNBQKBNR w - - 0 1"), Some(518));
        assert_eq!(number_of("8/8/8/8/8/8/8/BBQNNRKR w - - 0 1"), Some(0));
        assert_eq!(number_of("8/8/8/8/8/8/8/RKRNNQBB w - - 0 1"), Some(959));
        assert_eq!(number_of("8 w - - 0 1"), None);
    }

    #[test]
    fn an_identifier_is_one() {
        let one = uuid("gw/1/1");
        assert_eq!(one.len(), 36);
        assert_eq!(one, uuid("gw/1/1"));
        assert_ne!(one, uuid("gw/1/2"));
    }
}
