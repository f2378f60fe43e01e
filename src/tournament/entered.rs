//! Results that a person entered for games of which no board tells. What was entered first stays, so that everybody can see
//! who changed what.

use serde::{Deserialize, Serialize};

use super::pairings::{Pairing, Pairings};

/// A result as a person entered it. It is of these players, and of the pairings as they were: where those are corrected to
/// other players, or get another result of their own, that is the later word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entered {
    /// Number of the game, from 1.
    game: usize,
    /// Names of White and Black.
    players: [String; 2],
    /// The result that the pairings themselves had.
    over: Option<String>,
    /// `1-0`, `0-1` or `1/2-1/2`; none where it was taken back.
    result: Option<String>,
    /// Who entered it, if that was told.
    by: Option<String>,
    /// Unix time in milliseconds.
    at_ms: i64,
}

impl Entered {
    fn is_of(&self, pairing: &Pairing) -> bool {
        let [white, black] = &self.players;
        *white == pairing.white.name && *black == pairing.black.name
    }
}

/// The results of a round, in the order in which they were entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnteredResults(Vec<Entered>);

/// A game of which no board tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandGame {
    /// Its number, from 1.
    pub game: usize,
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// `1-0`, `0-1` or `1/2-1/2`; none while it has none.
    pub result: Option<String>,
    /// Who entered the result, if a person did and told a name.
    pub by: Option<String>,
}

impl EnteredResults {
    /// The games of `pairings` behind the last of `tables` boards, and those with a result by hand.
    #[must_use]
    pub fn games(&self, pairings: &Pairings, tables: usize) -> Vec<HandGame> {
        let games = (1..).zip(&pairings.boards);
        let paired = games.filter_map(|(game, pairing)| Some((game, pairing.as_ref()?)));
        let by_hand = paired.filter(|(game, pairing)| *game > tables || pairing.result.is_some());
        by_hand
            .map(|(game, pairing)| HandGame {
                game,
                white: pairing.white.name.clone(),
                black: pairing.black.name.clone(),
                result: pairing.result.clone(),
                by: self.by(game, pairing),
            })
            .collect()
    }

    /// True where nobody entered any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the result of a game of `pairings`, which are as they were read. What was entered again as it stands changes
    /// nothing.
    pub fn enter(
        &mut self,
        pairings: &Pairings,
        game: usize,
        result: Option<String>,
        by: Option<String>,
        at_ms: i64,
    ) {
        let Some(pairing) = pairings.game(game) else {
            return;
        };
        let is_there = self.last(game, pairing).is_some_and(|last| last.result == result);
        if !is_there {
            self.0.push(Entered {
                game,
                players: [pairing.white.name.clone(), pairing.black.name.clone()],
                over: pairing.result.clone(),
                result,
                by,
                at_ms,
            });
        }
    }

    /// What counts of a game of pairings that are as they were read.
    fn last(&self, game: usize, pairing: &Pairing) -> Option<&Entered> {
        let last = self
            .0
            .iter()
            .rev()
            .find(|entered| entered.game == game && entered.is_of(pairing));
        last.filter(|last| last.over == pairing.result)
    }

    /// Who entered the result that a game has.
    fn by(&self, game: usize, pairing: &Pairing) -> Option<String> {
        let last = self
            .0
            .iter()
            .rev()
            .find(|entered| entered.game == game && entered.is_of(pairing))?;
        last.by.clone().filter(|_| last.result == pairing.result)
    }

    /// Puts the results into pairings as they were read.
    pub fn put_into(&self, pairings: &mut Pairings) {
        for (game, pairing) in (1..).zip(&mut pairings.boards) {
            if let Some(pairing) = pairing
                && let Some(last) = self.last(game, pairing)
            {
                pairing.result.clone_from(&last.result);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Pairings {
        Pairings::parse(&format!("board,white,white_elo,black,result\n{text}"), 1).unwrap()
    }

    fn result(results: &EnteredResults, mut pairings: Pairings, game: usize) -> Option<String> {
        results.put_into(&mut pairings);
        pairings.game(game)?.result.clone()
    }

    #[test]
    fn the_last_word_counts_and_the_earlier_ones_stay() {
        let read = of("1,A,,B,\n2,C,,D,1-0\n");
        let mut results = EnteredResults::default();
        let mut enter = |game, result: Option<&str>| {
            results.enter(&read, game, result.map(str::to_owned), Some("Anna".into()), 7);
        };
        for word in [Some("1-0"), Some("1-0"), Some("0-1"), None] {
            enter(2, word);
        }
        enter(1, Some("1/2-1/2"));
        enter(3, Some("1-0"));
        assert_eq!(
            results.0.len(),
            4,
            "the same word twice is one, and there is no third game"
        );
        assert_eq!(result(&results, read.clone(), 2), None, "taken back");
        assert_eq!(result(&results, read.clone(), 1).as_deref(), Some("1/2-1/2"));
        let mut shown = read;
        results.put_into(&mut shown);
        let games = results.games(&shown, 0);
        assert_eq!(games[0].by.as_deref(), Some("Anna"));
    }

    #[test]
    fn pairings_that_are_corrected_are_the_later_word() {
        let mut results = EnteredResults::default();
        for game in 1..=4 {
            let read = of("1,A,,B,\n2,C,,D,\n3,E,,F,\n4,G,,H,\n");
            results.enter(&read, game, Some("1-0".into()), None, 7);
        }
        let corrected = of("1,A,2100,B,\n2,X,,D,\n3,E,,F,0-1\n4,H,,G,\n");
        let now: Vec<_> = (1..=4)
            .map(|game| result(&results, corrected.clone(), game))
            .collect();
        let now: Vec<_> = now.iter().map(Option::as_deref).collect();
        assert_eq!(
            now,
            [Some("1-0"), None, Some("0-1"), None],
            "another player, another result, other colours"
        );
    }
}
