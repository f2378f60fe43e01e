//! What the public gets of each fixture, held at every half-move against the rules of lichess.

use std::{collections::BTreeMap, fs, path::Path};

use dgt2mqtt::{
    broadcast::{PublicRecord, Round},
    event::{Body, Event, GameResult},
    tournament::{Delay, Pairings, Tournament},
};

use crate::{
    reader::{half_moves, recorded},
    relay_rules::{self, Chapter, Game, Made, value},
};

/// How many boards a round has here.
const BOARDS: usize = 8;

/// The events of each fixture, with the fixture's name.
fn fixtures() -> Vec<(String, Vec<Event>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    let events = |path: &Path| -> Vec<Event> {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let read = files.iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, events(path))
    });
    read.collect()
}

/// A board of a round.
struct Board {
    name: String,
    events: Vec<Event>,
    record: PublicRecord,
}

/// A round that is played on boards, and the round on the server that its games are pushed to.
struct Pushed {
    round: Round,
    boards: Vec<Board>,
    server: relay_rules::Round,
    last: String,
}

impl Pushed {
    fn new(number: u32, names: Vec<String>) -> Self {
        let mut pairings = String::from("board,white,white_fide_id,black,black_fide_id,black_team\n");
        for board in 1..=names.len() {
            let ids = if board % 2 == 0 { ["", ""] } else { ["11", "22"] };
            let id = |id: &str| {
                if id.is_empty() {
                    String::new()
                } else {
                    format!("{id}{board}")
                }
            };
            pairings += &format!(
                "{board},\"White, {board}\",{},\"Black, {board}\",{},\"Team \"\"{board}\"\"\"\n",
                id(ids[0]),
                id(ids[1])
            );
        }
        let tournament = Tournament {
            name: Some("Open".into()),
            site: Some("Riga".into()),
            round: number,
            rounds: number,
            combined: true,
            ..Tournament::default()
        };
        let tables = (1..=names.len()).map(|board| format!("gw/{board}"));
        let boards = names.into_iter().map(|name| Board {
            name,
            events: Vec::new(),
            record: PublicRecord::default(),
        });
        Self {
            round: Round::new(
                tournament,
                Pairings::parse(&pairings, number).unwrap(),
                tables.collect(),
            ),
            boards: boards.collect(),
            server: relay_rules::Round::new(),
            last: String::new(),
        }
    }

    /// A board tells an event; the games are pushed if something is new.
    fn tell(&mut self, board: usize, mut event: Event) {
        let (_, seq) = event.id.rsplit_once('/').unwrap();
        event.id = format!("gw/{}/{seq}", board + 1);
        let now_ms = (event.t * 1000.0) as i64;
        self.round.take(&event, now_ms);
        self.boards[board].record.take(&event, now_ms);
        self.boards[board].events.push(event);
        self.push();
    }

    fn push(&mut self) {
        let files = self.round.files(i64::MAX / 2);
        let games: Vec<String> = self
            .round
            .published(&files)
            .into_iter()
            .map(|game| game.pgn)
            .collect();
        let text = games.join("\n");
        if text == self.last {
            return;
        }
        let taken = self.server.push(&text);
        assert_eq!(taken.len(), games.len());
        assert_eq!(
            self.server.chapters.len(),
            games.len(),
            "each game is one chapter"
        );
        for (i, (game, pgn)) in taken.into_iter().zip(&games).enumerate() {
            let name = &self.boards[i].name;
            let game = game.unwrap_or_else(|refusal| panic!("{name}: {refusal:?} of {pgn}"));
            assert!(!game.dropped, "{name}: a king in the centre: {pgn}");
            assert_eq!(game.moves.len(), half_moves(pgn).len(), "{name}: {pgn}");
            let chapter = &self.server.chapters[i];
            let round = format!("{}.{}", self.round.number(), i + 1);
            assert_eq!(
                value(&chapter.tags, "Round"),
                Some(round.as_str()),
                "{name}: {pgn}"
            );
            is_shown(name, pgn, &game, chapter);
            self.boards[i].is_told(pgn, &game);
        }
        self.last = text;
    }
}

/// Whether the chapter has what was pushed. Half-moves that are only taken back stay on the server.
fn is_shown(name: &str, pgn: &str, game: &Game, chapter: &Chapter) {
    let shown = &chapter.moves[..game.moves.len().min(chapter.moves.len())];
    if chapter.start == game.start {
        // To the server a clock at 0:00:00 is none in the text of a half-move, but one in the tags of the game.
        let timed = |moves: &[Made]| -> Vec<Made> {
            let told = |made: &Made| Made {
                clock: made.clock.filter(|clock| *clock > 0),
                ..made.clone()
            };
            moves.iter().map(told).collect()
        };
        assert_eq!(timed(shown), timed(&game.moves), "{name}: {pgn}");
    } else {
        // The start position was put right. The server keeps the positions of the half-moves that it has.
        let same = shown
            .iter()
            .zip(&game.moves)
            .all(|(one, other)| one.uci == other.uci);
        assert!(same && shown.len() == game.moves.len(), "{name}: {pgn}");
    }
    let result = value(&chapter.tags, "Result");
    let pushed = game.over.as_deref().unwrap_or("*");
    assert_eq!(result, Some(pushed), "{name}: {pgn}");
}

impl Board {
    /// Whether the game as it was read is that of the events.
    fn is_told(&self, pgn: &str, game: &Game) {
        let name = &self.name;
        let shown = self.record.shown(i64::MAX / 2, Delay::default());
        let Some(shown) = shown else {
            assert_eq!(game.moves.len(), 0, "{name}: {pgn}");
            return;
        };
        let (moves, result) = recorded(&self.events, shown.number);
        let is_960 = value(&game.tags, "Variant").is_some();
        let read: Vec<&str> = game.moves.iter().map(|made| made.uci.as_str()).collect();
        // Castling is written in another way there, and positions are taken up by other rights.
        if !is_960 {
            assert_eq!(read, moves, "{name}: {pgn}");
        } else if !pgn.contains("illegal") {
            assert_eq!(read.len(), moves.len(), "{name}: {pgn}");
        }
        // A result that is asked about waits for an arbiter's word.
        let waits = shown.live && result != GameResult::Open;
        let told = if waits { "*" } else { result.in_pgn() };
        assert!(
            pgn.contains(&format!("[Result \"{told}\"]")),
            "{name}: {told}: {pgn}"
        );
        // Where the position ends the game, it is over there before the event that says so.
        let over = game.over.as_deref();
        assert!(told == "*" || over == Some(told), "{name}: {over:?}: {pgn}");
        self.has_clocks(pgn, game, shown.number);
    }

    /// Whether each half-move has the clock of its event.
    fn has_clocks(&self, pgn: &str, game: &Game, number: u32) {
        let mut clocks: BTreeMap<u32, Option<u64>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.game == Some(number)) {
            let Body::Move(made) = &event.body else { continue };
            // The side to move in the position after it is the other one.
            let by_white = made.fen.contains(" b ");
            let own = made
                .clock
                .map(|clock| if by_white { clock.white_ms } else { clock.black_ms });
            clocks.insert(made.ply, own);
        }
        // Behind an illegal move, or one of a displaced piece, the game's first half-move is a later one.
        if pgn.contains("stands") || pgn.contains("Before this position") {
            return;
        }
        for (ply, made) in (1..).zip(&game.moves) {
            let own = clocks.get(&ply).copied().flatten();
            if let Some(own) = own.filter(|own| *own >= 1000) {
                let own = u32::try_from(own / 1000).unwrap();
                assert_eq!(made.clock, Some(own), "{}: half-move {ply} of {pgn}", self.name);
            }
        }
    }
}

#[test]
fn every_half_move_of_every_fixture_is_taken_and_shown() {
    let fixtures = fixtures();
    let mut pushed = 0;
    for (number, round) in (1..).zip(fixtures.chunks(BOARDS)) {
        let names = round.iter().map(|(name, _)| name.clone()).collect();
        let mut hall = Pushed::new(number, names);
        hall.push();
        // The boards tell in turns, so that games begin and end among others.
        let longest = round.iter().map(|(_, events)| events.len()).max().unwrap();
        for i in 0..longest {
            for (board, (_, events)) in round.iter().enumerate() {
                if let Some(event) = events.get(i) {
                    hall.tell(board, event.clone());
                }
            }
        }
        pushed += hall
            .server
            .chapters
            .iter()
            .map(|chapter| chapter.moves.len())
            .sum::<usize>();
    }
    assert!(
        fixtures.len() > 200 && pushed > 1_500,
        "{} {pushed}",
        fixtures.len()
    );
}
