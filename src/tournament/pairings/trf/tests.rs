//! Small files, made by hand.

use super::super::{MistakeKind, Pairings, PairingsError};

fn parse(text: &str, round: u32) -> Result<Pairings, PairingsError> {
    Pairings::parse(text, round)
}

/// A player's line with games as (opponent, colour, result).
fn line(number: u32, name: &str, title: &str, elo: u32, games: &[(u32, char, char)]) -> String {
    let mut line = format!(
        "001 {number:4} m{title:>3} {name:33} {elo:4} GER 1234567{number:04} 1990/01/01  0.0 {number:4}  "
    );
    for (opponent, colour, result) in games {
        line += &format!("{opponent:4} {colour} {result}  ");
    }
    line
}

#[test]
fn teams_have_their_players() {
    let team = |name: &str, players: &str| format!("013 {name:32}{players}");
    let text = [
        line(1, "A", "", 2500, &[(2, 'w', ' ')]),
        line(2, "B", "", 2400, &[(1, 'b', ' ')]),
        team("Riga II", "   1    7"),
        team("Tromsø", "   2"),
    ];
    let game = parse(&text.join("\n"), 1).unwrap().boards[0].clone().unwrap();
    assert_eq!(game.white.team.as_deref(), Some("Riga II"));
    assert_eq!(game.black.team.as_deref(), Some("Tromsø"));
}

fn file() -> String {
    [
        "012 Spring Open".to_owned(),
        "022 Vienna".to_owned(),
        line(1, "Löwe, Änne", "g", 2500, &[(3, 'w', '0'), (4, 'b', ' ')]),
        line(2, "Berg, B", "", 2400, &[(4, 'b', '='), (3, 'w', ' ')]),
        line(3, "Tal, C", "WIM", 2300, &[(1, 'b', '1'), (2, 'b', ' ')]),
        line(4, "Dorn, D", "", 0, &[(2, 'w', '='), (1, 'w', ' ')]),
        line(5, "Frei, F", "", 0, &[(0, '-', 'U'), (0, '-', 'H')]),
    ]
    .join("\n")
}

#[test]
fn a_round_in_the_order_of_the_boards() {
    let pairings = parse(&file(), 2).unwrap();
    assert_eq!(pairings.name.as_deref(), Some("Spring Open"));
    assert_eq!(pairings.site.as_deref(), Some("Vienna"));
    let names: Vec<_> = pairings
        .boards
        .iter()
        .flatten()
        .map(|p| (p.white.name.as_str(), p.black.name.as_str()))
        .collect();
    assert_eq!(
        names,
        [("Berg, B", "Tal, C"), ("Dorn, D", "Löwe, Änne")],
        "the leader first"
    );
    let first = parse(&file(), 1).unwrap();
    let white = &first.boards[0].as_ref().unwrap().white;
    assert_eq!(white.name, "Löwe, Änne", "without scores the first number first");
    assert_eq!(white.title.as_deref(), Some("GM"));
    assert_eq!(white.elo.as_deref(), Some("2500"));
    assert_eq!(white.fide_id.as_deref(), Some("12345670001"));
    assert_eq!(white.federation.as_deref(), Some("GER"));
    assert_eq!(first.boards.len(), 2, "a bye has no board");
}

#[test]
fn a_line_cut_short_is_told() {
    let error = parse("001    x", 1).unwrap_err();
    assert!(error.to_string().starts_with("line 1: no line of a player"));
    assert!(parse("001    1", 1).is_err());
}

#[test]
fn every_mistake_of_a_file_is_named_with_its_line() {
    let wrong = |first: &str, second: &str| {
        let text = format!("012 Open\n{first}\n{second}\n");
        let mut wrong = Pairings::check(&text, 1, Some(1)).wrong;
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        let mistake = wrong.remove(0);
        (mistake.line, mistake.what)
    };
    let white = |name: &str| line(1, name, "", 2100, &[(2, 'w', ' ')]);
    let black = |number, name: &str, opponent| line(number, name, "", 0, &[(opponent, 'b', ' ')]);
    let (line, what) = wrong(
        &white("A"),
        &black(2, "a", 1).replace("12345670002", "           "),
    );
    assert!(
        line == Some(3) && matches!(what, MistakeKind::PlayerTwice { first: 2, .. }),
        "{what:?}"
    );
    let (line, what) = wrong(&white("2100"), &black(2, "B", 0));
    assert!(
        line == Some(2) && matches!(what, MistakeKind::ColumnShifted { .. }),
        "{what:?}"
    );
    let (line, what) = wrong(&white("A"), &black(1, "B", 1));
    assert!(
        line == Some(3) && matches!(what, MistakeKind::NumberTwice { first: 2, .. }),
        "{what:?}"
    );
    let (line, what) = wrong(&white("A"), &black(2, "B", 0));
    assert!(
        line == Some(2) && matches!(what, MistakeKind::OpponentElsewhere { opponent: 2, .. }),
        "{what:?}"
    );
    let (line, what) = wrong(&white("A").replace("2100", "21OO"), &black(2, "B", 1));
    assert!(
        line == Some(2) && matches!(what, MistakeKind::RatingNoNumber { .. }),
        "{what:?}"
    );
}

/// The players' lines of three teams of TRF26 with two rounds: in the first Oslo (3) beat Riga (1), and Bern (2) had the bye.
fn team_players(second: [char; 2]) -> String {
    let [won, lost] = second;
    [
        line(1001, "Riga A", "GM", 2600, &[(1003, 'w', '0'), (1006, 'w', won)]),
        line(1002, "Riga B", "", 2500, &[(1004, 'b', '='), (1005, 'b', lost)]),
        line(1003, "Oslo A", "", 2400, &[(1001, 'b', '1'), (0, '-', 'U')]),
        line(1004, "Oslo B", "", 2300, &[(1002, 'w', '='), (0, '-', 'U')]),
        line(1005, "Bern A", "", 2200, &[(0, '-', 'U'), (1002, 'w', won)]),
        line(1006, "Bern B", "", 2100, &[(0, '-', 'U'), (1001, 'b', lost)]),
    ]
    .join("\n")
}

fn team_310(number: u32, name: &str, players: &str) -> String {
    format!(
        "310 {number:>3} {name:32} {:5} {:6} {:6} {:6} {:3}  {players}",
        "", "", "", "", ""
    )
}

/// Games as `White - Black`, in the order of the boards.
fn order(text: &str, round: u32) -> Vec<String> {
    let pairings = parse(text, round).unwrap();
    let games = pairings.boards.iter().flatten();
    games
        .map(|game| format!("{} - {}", game.white.name, game.black.name))
        .collect()
}

#[test]
fn teams_of_trf26_have_their_players() {
    let text = format!(
        "### SSS NNNN\n012 Team Cup\n{}\n{}\n{}\n{}\n",
        team_310(1, "Riga", "1001 1002"),
        team_310(2, "Bern", "1005 1006"),
        team_310(3, "Oslo", "1003 1004"),
        team_players([' ', ' ']),
    );
    let pairings = parse(&text, 1).unwrap();
    assert_eq!(pairings.name.as_deref(), Some("Team Cup"));
    let game = pairings.boards[0].clone().unwrap();
    assert_eq!(game.white.team.as_deref(), Some("Riga"));
    assert_eq!(game.black.team.as_deref(), Some("Oslo"));
    assert_eq!(order(&text, 1), ["Riga A - Oslo A", "Oslo B - Riga B"]);
    // In the second round the teams play in the order of their lines, and with `300` in another one.
    assert_eq!(order(&text, 2), ["Riga A - Bern B", "Bern A - Riga B"]);
    let turned = format!("{text}300 002   2   1 1005 1006\n300 001   2   1 1006 1005\n");
    assert_eq!(order(&turned, 2), ["Bern A - Riga B", "Riga A - Bern B"]);
    let free = format!("{text}300 002   1   2 0000 1002 1001\n");
    assert_eq!(order(&free, 2), ["Bern A - Riga B", "Riga A - Bern B"]);
}

#[test]
fn a_match_has_its_boards_together_and_the_leaders_sit_first() {
    let games = |first: u32, second: u32| {
        // Teams of two: 1-2, 3-4, 5-6, 7-8. The last one leads.
        let one =
            |number: u32, name: &str, round: [(u32, char, char); 2]| line(number, name, "", 2000, &round);
        [
            one(1, "A1", [(3, 'w', '='), (first, 'w', ' ')]),
            one(2, "A2", [(4, 'b', '='), (first + 1, 'b', ' ')]),
            one(3, "B1", [(1, 'b', '='), (second, 'w', ' ')]),
            one(4, "B2", [(2, 'w', '='), (second + 1, 'b', ' ')]),
            one(5, "C1", [(7, 'w', '0'), (1, 'b', ' ')]),
            one(6, "C2", [(8, 'b', '0'), (2, 'w', ' ')]),
            one(7, "D1", [(5, 'b', '1'), (3, 'b', ' ')]),
            one(8, "D2", [(6, 'w', '1'), (4, 'w', ' ')]),
        ]
        .join("\n")
    };
    let team = |name: &str, players: &str| format!("013 {name:32}{players}");
    let teams = [
        team("A", "   1    2"),
        team("B", "   3    4"),
        team("C", "   5    6"),
        team("D", "   7    8"),
    ];
    let text = format!("{}\n{}\n", games(5, 7), teams.join("\n"));
    assert_eq!(order(&text, 2), ["B1 - D1", "D2 - B2", "A1 - C1", "C2 - A2"]);
    assert_eq!(order(&text, 1), ["A1 - B1", "B2 - A2", "C1 - D1", "D2 - C2"]);
    // Players of teams who are paired one by one keep the order of players.
    let mixed = format!(
        "{}\n{}\n{}\n",
        games(5, 7),
        team("A", "   1    5"),
        team("B", "   2    3    4    6    7    8")
    );
    assert_eq!(order(&mixed, 1), ["A1 - B1", "B2 - A2", "C1 - D1", "D2 - C2"]);
    assert_eq!(order(&mixed, 2), ["B1 - D1", "D2 - B2", "A1 - C1", "C2 - A2"]);
}

#[test]
fn a_team_with_a_bye_has_its_points() {
    let away = (0, '-', 'Z');
    let text = [
        line(1, "P1", "", 0, &[away, (3, 'w', ' ')]),
        line(2, "P2", "", 0, &[away, (4, 'b', ' ')]),
        line(3, "Q1", "", 0, &[away, (1, 'b', ' ')]),
        line(4, "Q2", "", 0, &[away, (2, 'w', ' ')]),
        line(5, "R1", "", 0, &[(0, '-', 'U'), (6, 'w', ' ')]),
        line(6, "S1", "", 0, &[away, (5, 'b', ' ')]),
        team_310(1, "P", "   1    2"),
        team_310(2, "Q", "   3    4"),
        team_310(3, "R", "   5"),
        team_310(4, "S", "   6"),
    ];
    let text = text.join("\n");
    assert_eq!(order(&text, 2), ["P1 - Q1", "Q2 - P2", "R1 - S1"]);
    let text = format!("{text}\n320  1.0  2.0   3 000\n");
    assert_eq!(order(&text, 2), ["R1 - S1", "P1 - Q1", "Q2 - P2"]);
}

#[test]
fn results_of_the_round_are_results_by_hand() {
    let result = |white: char, black: char| {
        let text = [
            line(1, "A", "", 2500, &[(2, 'w', white)]),
            line(2, "B", "", 2400, &[(1, 'b', black)]),
        ];
        let boards = parse(&text.join("\n"), 1).unwrap().boards;
        boards[0].clone().unwrap().result
    };
    for (white, black, told) in [
        ('1', '0', Some("1-0")),
        ('0', '1', Some("0-1")),
        ('=', '=', Some("1/2-1/2")),
        ('+', '-', Some("+/-")),
        ('-', '+', Some("-/+")),
        ('W', 'L', Some("1-0")),
        ('l', 'w', Some("0-1")),
        ('D', 'D', Some("1/2-1/2")),
        ('-', '-', Some("-/-")),
        ('0', '0', Some("0-0")),
        (' ', ' ', None),
    ] {
        assert_eq!(result(white, black).as_deref(), told, "{white}{black}");
    }
}

#[test]
fn the_time_control_of_the_file_is_read() {
    let periods = |control: &str| {
        let text = format!("222 {control}\n{}", line(1, "A", "", 0, &[(2, 'w', ' ')]));
        let text = format!("{text}\n{}", line(2, "B", "", 0, &[(1, 'b', ' ')]));
        let periods = parse(&text, 1).unwrap().periods;
        let periods: Vec<String> = periods.iter().map(ToString::to_string).collect();
        periods.join(", ")
    };
    assert_eq!(periods("5400+30"), "90+30");
    assert_eq!(periods("40/6000+30:900+30"), "40/100+30, 15+30");
    assert_eq!(periods("3600"), "60");
    for unknown in ["W300-B240", "90+30\"", "5430+30", ""] {
        assert_eq!(periods(unknown), "", "{unknown}");
    }
}
