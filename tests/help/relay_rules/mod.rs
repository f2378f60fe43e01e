//! The rules by which lichess takes a push to a round: which games it knows again, what it shows of them, and what it
//! answers. They are its rules (lila, modules/relay) and none of its code, for the tests to hold our output against.
#![allow(dead_code)] // shared by several test programs.

mod read;

use serde_json::{Value, json};

pub use read::{Game, MOST_GAMES, Made, Refusal, Tags, games, value};

/// A game of a round, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chapter {
    pub tags: Tags,
    pub start: String,
    pub moves: Vec<Made>,
}

impl Chapter {
    fn is_empty_initial(&self) -> bool {
        self.tags.is_empty() && self.moves.is_empty()
    }

    /// Takes what is new in `game`.
    fn update(&mut self, game: &Game) {
        if self.moves.len() < 2 && self.start != game.start {
            self.start.clone_from(&game.start);
            self.moves.clear();
        }
        let mut tags = game.tags.clone();
        if let (Some(over), None) = (&game.over, value(&tags, "Result")) {
            tags.push(("Result".to_owned(), over.clone()));
        }
        for (name, told) in tags {
            self.tags.retain(|(own, _)| *own != name);
            self.tags.push((name, told));
        }
        let same = self.moves.iter().zip(&game.moves);
        let same = same.take_while(|(own, told)| own.uci == told.uci).count();
        for (own, told) in self.moves.iter_mut().zip(&game.moves[..same]) {
            own.clock = told.clock.or(own.clock);
        }
        // Moves that are only taken back stay; other moves in their place become the main line.
        if same < game.moves.len() {
            self.moves.truncate(same);
            self.moves.extend_from_slice(&game.moves[same..]);
        }
    }
}

/// What a push does to a round. Chapters and games are told by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The chapters in another order, where all of them are updated.
    pub reorder: Option<Vec<usize>>,
    /// Chapters, each with the game that updates it.
    pub update: Vec<(usize, usize)>,
    /// Games that become chapters.
    pub append: Vec<usize>,
    /// Chapters that no game is for.
    pub orphans: Vec<usize>,
}

/// What `games` do to `chapters`.
pub fn plan(chapters: &[Chapter], games: &[Game]) -> Plan {
    let mut update: Vec<(usize, usize)> = Vec::new();
    if let ([only], [_, ..]) = (chapters, games)
        && only.is_empty_initial()
    {
        update.push((0, 0));
    } else {
        for (i, game) in games.iter().enumerate() {
            let is_free = |chapter: &usize| update.iter().all(|(taken, _)| taken != chapter);
            let mut free = (0..chapters.len()).filter(is_free);
            let found = free.find(|chapter| is_same(game, &chapters[*chapter]));
            update.extend(found.map(|chapter| (chapter, i)));
        }
    }
    let is_updating = |game: &usize| update.iter().any(|(_, by)| games[*by] == games[*game]);
    let append = (0..games.len()).filter(|game| !is_updating(game)).collect();
    let order: Vec<usize> = update.iter().map(|(chapter, _)| *chapter).collect();
    let orphans = (0..chapters.len())
        .filter(|chapter| !order.contains(chapter))
        .collect();
    let is_moved = order.len() == chapters.len() && !order.is_sorted();
    Plan {
        reorder: is_moved.then_some(order),
        update,
        append,
        orphans,
    }
}

/// Whether a game is the chapter's: by its tags, or, of the same event and round, by its moves so far.
fn is_same(game: &Game, chapter: &Chapter) -> bool {
    is_same_by_tags(&game.tags, &chapter.tags)
        || is_same_event(&game.tags, &chapter.tags)
            && is_same_so_far((&game.start, &game.moves), (&chapter.start, &chapter.moves))
}

/// Whether the tags are those of one game.
pub fn is_same_by_tags(one: &Tags, other: &Tags) -> bool {
    let agree = |names: [&str; 2]| names.iter().all(|name| value(one, name) == value(other, name));
    let ids = ["WhiteFideId", "BlackFideId"];
    let has_ids = |tags: &Tags| {
        ids.iter()
            .all(|name| value(tags, name).is_some_and(|id| id != "0"))
    };
    let id = value(one, "GameId").filter(|id| value(other, "GameId") == Some(id));
    let people = if has_ids(one) && has_ids(other) {
        ids
    } else {
        ["White", "Black"]
    };
    id.is_some() || is_same_event(one, other) && board(one) == board(other) && agree(people)
}

fn is_same_event(one: &Tags, other: &Tags) -> bool {
    let agree = |name| value(one, name) == value(other, name);
    agree("Event") && agree("Site") && round(one) == round(other)
}

/// The number of the round: the digits with which the tag begins.
fn round(tags: &Tags) -> Option<u32> {
    let text = value(tags, "Round")?;
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The number of the board: of its own tag, or what stands behind the round.
fn board(tags: &Tags) -> Option<u32> {
    let own = value(tags, "Board").and_then(|board| board.parse().ok());
    own.or_else(|| value(tags, "Round")?.split('.').nth(1)?.parse().ok())
}

/// Whether the shorter of two games ends with the position that the longer one has there. Without moves any two do.
pub fn is_same_so_far(one: (&str, &[Made]), other: (&str, &[Made])) -> bool {
    let at = one.1.len().min(other.1.len());
    let position = |(start, moves): (&str, &[Made])| match at {
        0 => start.to_owned(),
        at => moves[at - 1].fen.clone(),
    };
    position(one) == position(other)
}

/// A round.
#[derive(Clone, Debug, Default)]
pub struct Round {
    pub chapters: Vec<Chapter>,
    /// True where the round takes its games from elsewhere.
    pub has_source: bool,
}

impl Round {
    /// A round in which nothing was pushed: it has a chapter with nothing in it.
    pub fn new() -> Self {
        let empty = Chapter {
            start: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".to_owned(),
            ..Chapter::default()
        };
        Self {
            chapters: vec![empty],
            has_source: false,
        }
    }

    /// Takes a push; what is answered on each game, in their order.
    pub fn push(&mut self, pushed: &str) -> Vec<Result<Game, Refusal>> {
        if self.has_source {
            return vec![Err(Refusal {
                tags: Tags::new(),
                error: "The relay has an upstream URL, and cannot be pushed to.".to_owned(),
            })];
        }
        let read = games(pushed);
        let has_players = |game: &&Game| {
            let is_there = |name: &str| value(&game.tags, name).is_some();
            ["White", "Black"]
                .iter()
                .all(|side| is_there(side) || is_there(&format!("{side}FideId")))
        };
        // A game without both players is answered as if it were taken.
        let taken: Vec<Game> = read.iter().flatten().filter(has_players).cloned().collect();
        self.take(&taken);
        read
    }

    fn take(&mut self, games: &[Game]) {
        let plan = plan(&self.chapters, games);
        for (chapter, game) in &plan.update {
            self.chapters[*chapter].update(&games[*game]);
        }
        if let Some(order) = plan.reorder {
            self.chapters = order.iter().map(|i| self.chapters[*i].clone()).collect();
        }
        for game in plan.append {
            if self.chapters.len() < MOST_GAMES {
                let mut chapter = Chapter::default();
                chapter.update(&games[game]);
                self.chapters.push(chapter);
            }
        }
    }
}

/// The answer to a push as JSON.
pub fn answer(games: &[Result<Game, Refusal>]) -> Value {
    let tags = |tags: &Tags| {
        Value::Object(
            tags.iter()
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect(),
        )
    };
    let one = |game: &Result<Game, Refusal>| match game {
        Ok(game) => json!({"tags": tags(&game.tags), "moves": game.moves.len()}),
        Err(refusal) => json!({"tags": tags(&refusal.tags), "error": refusal.error}),
    };
    json!({"games": games.iter().map(one).collect::<Vec<_>>()})
}
