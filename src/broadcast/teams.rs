//! The matches of a tournament of teams, and how they stand.

use serde::Serialize;

use crate::tournament::Pairing;

/// A match of two teams.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Match<'a> {
    /// The team that has White at the first of its boards, then the other.
    teams: [&'a str; 2],
    /// Points of each.
    points: [f32; 2],
    /// How many of its games have a result.
    over: usize,
    games: usize,
}

/// The matches, in the order of their first boards; none where the players have no teams.
pub(super) fn matches<'a>(games: impl Iterator<Item = (&'a Pairing, &'a str)>) -> Vec<Match<'a>> {
    let mut matches: Vec<Match<'a>> = Vec::new();
    for (pairing, result) in games {
        let (Some(white), Some(black)) = (&pairing.white.team, &pairing.black.team) else {
            continue;
        };
        // Colours alternate from board to board.
        let known = matches
            .iter()
            .position(|it| it.teams == [white, black] || it.teams == [black, white]);
        let place = known.unwrap_or_else(|| {
            matches.push(Match {
                teams: [white, black],
                points: [0.0; 2],
                over: 0,
                games: 0,
            });
            matches.len() - 1
        });
        let it = &mut matches[place];
        it.games += 1;
        let Some(mut points) = points(result) else {
            continue;
        };
        if it.teams[0] != white {
            points.reverse();
        }
        it.over += 1;
        it.points = [it.points[0] + points[0], it.points[1] + points[1]];
    }
    matches
}

/// What the result gives White and Black; none while there is none.
fn points(result: &str) -> Option<[f32; 2]> {
    match result {
        "1-0" => Some([1.0, 0.0]),
        "0-1" => Some([0.0, 1.0]),
        "1/2-1/2" => Some([0.5, 0.5]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tournament::Pairings;

    #[test]
    fn a_match_counts_for_both_colours() {
        let text = "board,white,white_team,black,black_team,result\n1,A,Riga,B,Oslo,1-0\n2,C,Oslo,D,Riga,=\n\
                    3,E,Rome,F,Bern,\n4,G,Riga,H,Oslo,\n5,I,,J,,1-0\n";
        let pairings = Pairings::parse(text, 1).unwrap();
        let games: Vec<_> = pairings.boards.iter().flatten().collect();
        let games = games
            .iter()
            .map(|game| (*game, game.result.as_deref().unwrap_or("*")));
        let stand = |teams, points, over, games| Match {
            teams,
            points,
            over,
            games,
        };
        assert_eq!(
            matches(games),
            [
                stand(["Riga", "Oslo"], [1.5, 0.5], 2, 3),
                stand(["Rome", "Bern"], [0.0, 0.0], 0, 1)
            ]
        );
    }
}
