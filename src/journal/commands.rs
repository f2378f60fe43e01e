//! Reading the commands of a journal, with the games that they are of.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use serde_json::Value;

use super::{
    entry::CommandRecord,
    query::{Filter, TIME_OF_EVENT, open},
};

/// A command and when it came.
#[derive(Clone, Debug)]
pub struct KeptCommand {
    /// The board's id.
    pub board: String,
    /// The game of its board that it is of, if that is known.
    pub game: Option<u32>,
    /// Unix time in milliseconds.
    pub received_ms: i64,
    /// The command and its answer.
    pub record: CommandRecord,
}

/// The commands that `filter` lets through, oldest first. Of the filter count only the board, the game, the times and `last`.
///
/// # Errors
/// When the file is missing, is no journal or cannot be read.
pub fn commands(path: &Path, filter: &Filter) -> rusqlite::Result<VecDeque<KeptCommand>> {
    let connection = open(path)?;
    let of_commands = Filter {
        board: filter.board.clone(),
        since_ms: filter.since_ms,
        until_ms: filter.until_ms,
        // Which game a command is of is known only once it is read.
        last: filter.last.filter(|_| filter.game.is_none()),
        ..Filter::default()
    };
    let columns = "board, received_ms, ref, verb, payload, reply";
    let (sql, values) = of_commands.sql(columns, "commands", "received_ms");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut games = GamesThen::new(&connection, filter.board.as_deref());
    let mut commands = VecDeque::new();
    while let Some(row) = rows.next()? {
        let mut kept = KeptCommand {
            board: row.get(0)?,
            game: None,
            received_ms: row.get(1)?,
            record: CommandRecord {
                reference: row.get(2)?,
                verb: row.get(3)?,
                payload: row.get(4)?,
                reply: row.get(5)?,
            },
        };
        kept.game = games.of(&kept)?;
        if filter.game.is_none_or(|asked| kept.game == Some(asked)) {
            commands.push_back(kept);
        }
        if filter.last.is_some_and(|last| commands.len() as u64 > last) {
            commands.pop_front();
        }
    }
    Ok(commands)
}

/// The games of each board in the order of the journal, each with its first time.
type BegunGames = BTreeMap<String, Vec<(i64, Option<u32>)>>;

/// The games that the boards had, by time. The events are read once, and only if a command wants it.
struct GamesThen<'a> {
    connection: &'a Connection,
    /// Only this board's.
    board: Option<&'a str>,
    begun: Option<BegunGames>,
}

impl<'a> GamesThen<'a> {
    fn new(connection: &'a Connection, board: Option<&'a str>) -> Self {
        Self {
            connection,
            board,
            begun: None,
        }
    }

    /// The number of the game that a command is of: as it says itself, by the irregularity that it names, or as its answer
    /// says; else the game that the board had then.
    fn of(&mut self, kept: &KeptCommand) -> rusqlite::Result<Option<u32>> {
        if kept.board.is_empty() {
            return Ok(None);
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let fields = read(&kept.record.payload);
        let told = number(&fields["game"]);
        let told = told.or_else(|| number(&read(&kept.record.reply)["state"]["game"]["game"]));
        if told.is_some() {
            return Ok(told);
        }
        let irregularity = fields["irregularity"].as_str();
        match irregularity.and_then(|id| id.rsplit('/').next()?.parse().ok()) {
            Some(seq) => self.of_event(&kept.board, seq),
            None => self.at(&kept.board, kept.received_ms),
        }
    }

    fn of_event(&self, board: &str, seq: u64) -> rusqlite::Result<Option<u32>> {
        let sql = "SELECT game FROM events WHERE board = ?1 AND seq = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let game = statement
            .query_row(params![board, seq], |row| row.get(0))
            .optional()?;
        Ok(game.flatten())
    }

    /// The game of the last event of `board` up to `time_ms`.
    fn at(&mut self, board: &str, time_ms: i64) -> rusqlite::Result<Option<u32>> {
        let begun = match &mut self.begun {
            Some(begun) => begun,
            none => none.insert(begun(self.connection, self.board)?),
        };
        let mut games = begun.get(board).into_iter().flatten().rev();
        let last = games.find(|(since_ms, _)| *since_ms <= time_ms);
        Ok(last.and_then(|(_, game)| *game))
    }
}

fn begun(connection: &Connection, board: Option<&str>) -> rusqlite::Result<BegunGames> {
    let filter = Filter {
        board: board.map(str::to_owned),
        ..Filter::default()
    };
    let (sql, values) = filter.sql(&format!("board, game, {TIME_OF_EVENT}"), "events", TIME_OF_EVENT);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut begun = BegunGames::new();
    while let Some(row) = rows.next()? {
        let (board, game, time_ms) = (row.get_ref(0)?.as_str()?, row.get(1)?, row.get(2)?);
        match begun.get_mut(board) {
            None => drop(begun.insert(board.to_owned(), vec![(time_ms, game)])),
            // The wall clock may have been set back within a game.
            Some(games) => match games.last_mut() {
                Some((since_ms, last)) if *last == game => *since_ms = time_ms.min(*since_ms),
                _ => games.push((time_ms, game)),
            },
        }
    }
    Ok(begun)
}
