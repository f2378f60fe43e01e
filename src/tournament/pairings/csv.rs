//! Pairings as a table: a line with the names of the columns, then a line for each game.

use std::collections::BTreeSet;

use csv::{ReaderBuilder, StringRecord, Terminator};

use super::{
    MAX_BOARDS, Pairing, Player,
    check::{Seated, is_name},
    filled,
    mistake::{Mistake, MistakeKind},
};
use crate::tournament::array;

const COLUMNS: [&str; 16] = [
    "round",
    "board",
    "white",
    "black",
    "white_elo",
    "white_title",
    "white_fide_id",
    "white_federation",
    "white_team",
    "black_elo",
    "black_title",
    "black_fide_id",
    "black_federation",
    "black_team",
    "result",
    "start",
];

/// The games of `round`, as far as they can be read.
pub(super) fn read(text: &str, round: u32, wrong: &mut Vec<Mistake>) -> Vec<Seated> {
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((head_line, head)) = lines.next() else {
        return Vec::new();
    };
    let separator = separator(head);
    let Some(head) = cells(head, separator) else {
        wrong.push(Mistake::at(head_line, MistakeKind::QuoteOpen));
        return Vec::new();
    };
    let columns = columns(&head);
    let found = wrong.len();
    let at_head = |what| Mistake::at(head_line, what);
    let unknown = columns.iter().filter(|name| !COLUMNS.contains(&name.as_str()));
    wrong.extend(unknown.map(|column| {
        at_head(MistakeKind::ColumnUnknown {
            column: column.clone(),
        })
    }));
    let missing = ["board", "white", "black"].map(str::to_owned);
    let missing = missing.into_iter().filter(|name| !columns.contains(name));
    wrong.extend(missing.map(|column| at_head(MistakeKind::ColumnMissing { column })));
    // Each column comes once, because a row looks a cell up by its column's name.
    if columns.len() > COLUMNS.len() {
        wrong.push(at_head(MistakeKind::CellsTooMany {
            cells: columns.len(),
            columns: COLUMNS.len(),
        }));
    }
    if wrong.len() > found {
        return Vec::new();
    }
    let mut seated: Vec<Seated> = Vec::new();
    for (line, text) in lines {
        let Some(cells) = cells(text, separator) else {
            wrong.push(Mistake::at(line, MistakeKind::QuoteOpen));
            continue;
        };
        let row = Row {
            columns: &columns,
            cells: &cells,
        };
        if row.get("round").is_some_and(|cell| cell.parse() != Ok(round)) {
            continue;
        }
        match row.game(line) {
            Ok(game) => {
                let above = seated.last().and_then(|game| game.pairing.start.clone());
                seated.extend(game.map(|mut game| {
                    game.pairing.start = game.pairing.start.or(above);
                    game
                }));
            }
            Err(what) => wrong.push(Mistake::at(line, what)),
        }
    }
    seated
}

/// The rounds that the rows name.
pub(super) fn rounds(text: &str) -> BTreeSet<u32> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let head = lines.next().unwrap_or_default();
    let separator = separator(head);
    let columns = cells(head, separator).map_or_else(Vec::new, |head| columns(&head));
    let rows = lines.filter_map(|line| cells(line, separator));
    let round = |cells: StringRecord| {
        let row = Row {
            columns: &columns,
            cells: &cells,
        };
        row.get("round")?.parse().ok()
    };
    rows.filter_map(round).collect()
}

/// What stands between the cells of a table that begins with `head`.
fn separator(head: &str) -> char {
    let separators = [',', ';', '\t'].into_iter();
    let most = separators.max_by_key(|separator| head.matches(*separator).count());
    most.unwrap_or(',')
}

fn columns(head: &StringRecord) -> Vec<String> {
    head.iter()
        .map(|name| name.to_lowercase().replace([' ', '-'], "_"))
        .collect()
}

struct Row<'a> {
    columns: &'a [String],
    cells: &'a StringRecord,
}

impl Row<'_> {
    fn get(&self, column: &str) -> Option<String> {
        let place = self.columns.iter().position(|name| name == column)?;
        filled(self.cells.get(place)?)
    }

    /// The game of the row; none where the board is free.
    fn game(&self, line: usize) -> Result<Option<Seated>, MistakeKind> {
        self.is_in_place()?;
        let written = self.get("board").unwrap_or_default();
        let board = written.parse().ok();
        let Some(board) = board.filter(|board| (1..=MAX_BOARDS).contains(board)) else {
            return Err(MistakeKind::BoardNoNumber {
                board: written,
                most: MAX_BOARDS,
            });
        };
        let result = self.result()?;
        let start = match self.get("start") {
            None => None,
            Some(text) => Some(array(&text).map_err(|why| MistakeKind::StartWrong { text, why })?),
        };
        let pairing = self.player("white").zip(self.player("black"));
        Ok(pairing.map(|(white, black)| Seated {
            line,
            black_line: line,
            board,
            pairing: Pairing {
                white,
                black,
                result,
                start,
            },
        }))
    }

    /// Whether each cell can belong to its column.
    fn is_in_place(&self) -> Result<(), MistakeKind> {
        // Empty cells at the end are none.
        let cells = self.cells.iter().rev().skip_while(|cell| cell.is_empty());
        let cells = cells.count();
        if cells > self.columns.len() {
            return Err(MistakeKind::CellsTooMany {
                cells,
                columns: self.columns.len(),
            });
        }
        for column in self.columns {
            let Some(text) = self.get(column) else { continue };
            let fits = match column.as_str() {
                "white" | "black" | "white_title" | "black_title" | "white_federation"
                | "black_federation" => is_name(&text),
                "white_fide_id" | "black_fide_id" => text.bytes().all(|byte| byte.is_ascii_digit()),
                _ => true,
            };
            if !fits {
                let column = column.clone();
                return Err(MistakeKind::ColumnShifted { column, text });
            }
        }
        Ok(())
    }

    /// The result as boards have it. People write a half in several ways; none where the game is not over.
    fn result(&self) -> Result<Option<String>, MistakeKind> {
        let Some(text) = self.get("result").filter(|text| text != "*") else {
            return Ok(None);
        };
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let written = match bare.replace([':', '–'], "-").as_str() {
            "1-0" => "1-0",
            "0-1" => "0-1",
            "0-0" => "0-0",
            "+--" | "+/-" => "+/-",
            "--+" | "-/+" => "-/+",
            "---" | "-/-" => "-/-",
            "1/2-1/2" | "½-½" | "1/2" | "½" | "0.5-0.5" | "=" => "1/2-1/2",
            _ => return Err(MistakeKind::ResultUnknown { text }),
        };
        Ok(Some(written.to_owned()))
    }

    fn player(&self, side: &str) -> Option<Player> {
        let more = |what| self.get(&format!("{side}_{what}"));
        Some(Player {
            name: self.get(side)?,
            title: more("title"),
            elo: more("elo"),
            fide_id: more("fide_id"),
            federation: more("federation"),
            team: more("team"),
        })
    }
}

/// The cells of a line; none if a quote in it is not closed.
///
/// Each line is read for itself, so such a quote costs no other line.
fn cells(line: &str, separator: char) -> Option<StringRecord> {
    // People put a space before a quote. There it would be a letter like others.
    let cells = line.split(separator).map(|cell| {
        let bare = cell.trim_start();
        if bare.starts_with('"') { bare } else { cell }
    });
    let line = cells.collect::<Vec<_>>().join(&separator.to_string()) + "\n";
    let mut reader = ReaderBuilder::new()
        .delimiter(separator as u8)
        .has_headers(false)
        // A line is one record, whatever is in it.
        .terminator(Terminator::Any(b'\n'))
        .from_reader(line.as_bytes());
    let read = reader.records().next().and_then(Result::ok);
    let mut cells = read.unwrap_or_default();
    // A quote that is open at the end of the line has that end in its cell.
    let is_open = cells.iter().next_back().is_some_and(|cell| cell.ends_with('\n'));
    cells.trim();
    (!is_open).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::super::{Pairings, PairingsError};

    fn parse(text: &str, round: u32) -> Result<Pairings, PairingsError> {
        Pairings::parse(text, round)
    }

    #[test]
    fn a_table() {
        let text = "Round;Board;White;White Elo;Black;Black FIDE-ID\n\
                    1;1;\"Moss; M\";2100;Tufteland, V;\n2;2;A;;B;1503014\n\n2;1;\"C \"\"D\"\"\";;E;\n";
        let pairings = parse(text, 2).unwrap();
        assert_eq!(pairings.boards.len(), 2);
        let first = pairings.boards[0].as_ref().unwrap();
        assert_eq!(
            (first.white.name.as_str(), first.black.name.as_str()),
            ("C \"D\"", "E")
        );
        let second = pairings.boards[1].as_ref().unwrap();
        assert_eq!(second.black.fide_id.as_deref(), Some("1503014"));
        let moss = &parse(text, 1).unwrap().boards[0];
        assert_eq!(moss.as_ref().unwrap().white.name, "Moss; M");
    }

    /// A row looks cells up by name, so thousands of columns would take the daemon's time for hours.
    #[test]
    fn more_columns_than_there_are_names_are_refused() {
        let text = format!("board,white,black{}\n1,A,B\n", ",white".repeat(8000));
        let PairingsError::Wrong(mistakes) = parse(&text, 1).unwrap_err() else {
            panic!("another error");
        };
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    }

    #[test]
    fn teams_and_results_are_read_as_people_write_them() {
        let text = "board,white,white_team,black,black_team,result\n1,A,Riga,B,Oslo,½ - ½\n2,C,Oslo,D,Riga,0:1\n\
                    3,E,Riga,F,Oslo,+--\n4,G,Oslo,H,Riga,*\n5,I,,J,,\n";
        let pairings = parse(text, 1).unwrap();
        let games: Vec<_> = pairings.boards.iter().flatten().collect();
        let results: Vec<_> = games.iter().map(|game| game.result.as_deref()).collect();
        assert_eq!(results, [Some("1/2-1/2"), Some("0-1"), Some("+/-"), None, None]);
        assert_eq!(games[1].white.team.as_deref(), Some("Oslo"));
        assert_eq!(games[4].black.team, None);
        let wrong = parse("board,white,black,result\n1,A,B,2-0\n", 1).unwrap_err();
        assert!(
            wrong.to_string().starts_with("line 2: \"2-0\" is no result"),
            "{wrong}"
        );
    }

    #[test]
    fn without_rounds_every_line_counts_and_a_free_board_is_free() {
        let pairings = parse("board\twhite\tblack\n3\tA\tB\n1\tC\t\n", 9).unwrap();
        assert_eq!(
            pairings.boards.iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, false, true]
        );
    }

    #[test]
    fn a_quote_that_nobody_closes_costs_its_own_line() {
        let told = |text: &str| parse(text, 1).unwrap_err().to_string();
        let text = "board,white,black\n1,\"Moss, M,Lee\n2,C,D\nx,\"E\",F\n";
        let lines = told(text);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("line 2: a quote is not closed"), "{lines:?}");
        assert!(lines[1].starts_with("line 4: the board \"x\""), "{lines:?}");
        assert!(told("board,white,\"black\n1,A,B\n").starts_with("line 1: a quote is not closed"));
    }

    #[test]
    fn quotes_and_spaces_are_read_as_people_write_them() {
        let text =
            "board, white ,\"black\"\n1, \"Moss, M\" ,Robert \"Bob\" Lee \n2,\"say \"\"hi\"\", A\",B\r\n";
        let pairings = parse(text, 1).unwrap();
        let names = pairings.boards.iter().flatten();
        let names: Vec<_> = names
            .map(|p| (p.white.name.as_str(), p.black.name.as_str()))
            .collect();
        assert_eq!(names, [("Moss, M", "Robert \"Bob\" Lee"), ("say \"hi\", A", "B")]);
    }

    /// Some old programs end lines with a carriage return alone. That is one line here, and no table.
    #[test]
    fn a_carriage_return_ends_no_line() {
        let told = parse("board,white,black\r1,A,B\r", 1).unwrap_err().to_string();
        assert!(told.starts_with("line 1: there is no column"), "{told}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let told = |text: &str| parse(text, 1).unwrap_err().to_string();
        assert!(told("board,white,blck\n").contains("\"blck\""));
        assert!(told("board,white\n").contains("\"black\" is missing"));
        assert!(told("board,white,black\n1,A,B\nx,A,B\n").starts_with("line 3"));
        assert!(told("board,white,black\n999999999,A,B\n").starts_with("line 2"));
    }
}
