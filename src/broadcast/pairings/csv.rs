//! Pairings as a table: a line of names of columns, then a line for each game.

use super::{MAX_BOARDS, Pairing, Pairings, PairingsError, Player, filled};

const HELP: &str = "the first line names the columns, separated by commas, semicolons or tabs: board, white, black \
                    and, if wanted, round, white_elo, white_title, white_fide_id, white_federation and the same for black";

const COLUMNS: [&str; 12] = [
    "round",
    "board",
    "white",
    "black",
    "white_elo",
    "white_title",
    "white_fide_id",
    "white_federation",
    "black_elo",
    "black_title",
    "black_fide_id",
    "black_federation",
];

pub(super) fn parse(text: &str, round: u32) -> Result<Pairings, PairingsError> {
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = lines.next() else {
        return Err(PairingsError::NoGames(round));
    };
    let separator = [',', ';', '\t']
        .into_iter()
        .max_by_key(|separator| head.matches(*separator).count());
    let separator = separator.unwrap_or(',');
    let columns: Vec<String> = cells(head, separator)
        .iter()
        .map(|name| name.to_lowercase().replace([' ', '-'], "_"))
        .collect();
    let wrong = |line, what: String| PairingsError::Line {
        line,
        what,
        help: HELP,
    };
    if let Some(unknown) = columns.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
        return Err(wrong(1, format!("there is no column {unknown:?}")));
    }
    for needed in ["board", "white", "black"] {
        if !columns.iter().any(|name| name == needed) {
            return Err(wrong(1, format!("the column {needed:?} is missing")));
        }
    }
    let mut boards = Vec::new();
    for (line, text) in lines {
        let cells = cells(text, separator);
        let row = Row {
            columns: &columns,
            cells: &cells,
        };
        if row.get("round").is_some_and(|cell| cell.parse() != Ok(round)) {
            continue;
        }
        let board = row.get("board").and_then(|cell| cell.parse::<usize>().ok());
        let Some(board) = board.filter(|board| (1..=MAX_BOARDS).contains(board)) else {
            return Err(wrong(line, "the board is no number from 1".into()));
        };
        if boards.len() < board {
            boards.resize(board, None);
        }
        let pairing = row.player("white").zip(row.player("black"));
        boards[board - 1] = pairing.map(|(white, black)| Pairing { white, black });
    }
    Ok(Pairings {
        boards,
        ..Pairings::default()
    })
}

struct Row<'a> {
    columns: &'a [String],
    cells: &'a [String],
}

impl Row<'_> {
    fn get(&self, column: &str) -> Option<String> {
        let place = self.columns.iter().position(|name| name == column)?;
        filled(self.cells.get(place)?)
    }

    fn player(&self, side: &str) -> Option<Player> {
        let more = |what| self.get(&format!("{side}_{what}"));
        Some(Player {
            name: self.get(side)?,
            title: more("title"),
            elo: more("elo"),
            fide_id: more("fide_id"),
            federation: more("federation"),
        })
    }
}

/// The cells of a line; in quotes a separator is a character, and two quotes are one.
fn cells(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        // Never empty: it begins with one cell.
        let Some(cell) = cells.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn without_rounds_every_line_counts_and_a_free_board_is_free() {
        let pairings = parse("board\twhite\tblack\n3\tA\tB\n1\tC\t\n", 9).unwrap();
        assert_eq!(
            pairings.boards.iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, false, true]
        );
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
