//! Results that a person entered for games of which no board tells. What was entered first stays, so that everybody can see
//! who changed what.

use serde::{Deserialize, Serialize};

use super::pairings::{Pairing, Pairings};

/// A result as a person entered it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// Number of the game, from 1.
    pub game: usize,
    /// `1-0`, `0-1` or `1/2-1/2`; none where it was taken back.
    pub result: Option<String>,
    /// Who entered it, if that was told.
    pub by: Option<String>,
    /// Unix time in milliseconds.
    pub at_ms: i64,
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
                by: self.of(game).and_then(|entered| entered.by.clone()),
            })
            .collect()
    }

    /// True where nobody entered any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one. What was entered again as it stands changes nothing.
    pub fn enter(&mut self, entered: Entered) {
        if self
            .of(entered.game)
            .is_none_or(|last| last.result != entered.result)
        {
            self.0.push(entered);
        }
    }

    /// What was entered last for a game.
    #[must_use]
    pub fn of(&self, game: usize) -> Option<&Entered> {
        self.0.iter().rev().find(|entered| entered.game == game)
    }

    /// Puts the results into pairings. The person goes before the pairings.
    pub fn put_into(&self, pairings: &mut Pairings) {
        for (game, pairing) in (1..).zip(&mut pairings.boards) {
            if let (Some(pairing), Some(entered)) = (pairing, self.of(game)) {
                pairing.result.clone_from(&entered.result);
            }
        }
    }

    /// Leaves out the games of which `next` are other pairings than `former`, or have a result of their own: that is the
    /// later word.
    pub fn keep_for(&mut self, former: &Pairings, next: &Pairings) {
        let of = |pairings: &Pairings, game: usize| -> Option<Pairing> {
            pairings.boards.get(game.checked_sub(1)?)?.clone()
        };
        self.0.retain(|entered| {
            let (Some(former), Some(next)) = (of(former, entered.game), of(next, entered.game)) else {
                return false;
            };
            next.result.is_none()
                && former.white.name == next.white.name
                && former.black.name == next.black.name
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(game: usize, result: Option<&str>) -> Entered {
        Entered {
            game,
            result: result.map(str::to_owned),
            by: Some("Anna".into()),
            at_ms: 7,
        }
    }

    #[test]
    fn the_last_word_counts_and_the_earlier_ones_stay() {
        let mut results = EnteredResults::default();
        for result in [Some("1-0"), Some("1-0"), Some("0-1"), None] {
            results.enter(entered(2, result));
        }
        assert_eq!(results.0.len(), 3, "the same word twice is one");
        let mut pairings = Pairings::parse("board,white,black,result\n1,A,B,\n2,C,D,1-0\n", 1).unwrap();
        results.put_into(&mut pairings);
        assert_eq!(pairings.boards[1].as_ref().unwrap().result, None, "taken back");
        results.enter(entered(1, Some("1/2-1/2")));
        results.put_into(&mut pairings);
        assert_eq!(
            pairings.boards[0].as_ref().unwrap().result.as_deref(),
            Some("1/2-1/2")
        );
    }

    #[test]
    fn pairings_that_are_put_again_keep_what_they_do_not_change() {
        let of =
            |text: &str| Pairings::parse(&format!("board,white,white_elo,black,result\n{text}"), 1).unwrap();
        let former = of("1,A,,B,\n2,C,,D,\n3,E,,F,\n4,G,,H,\n");
        let mut results = EnteredResults::default();
        (1..=4).for_each(|game| results.enter(entered(game, Some("1-0"))));
        results.keep_for(&former, &of("1,A,2100,B,\n2,X,,D,\n3,E,,F,0-1\n"));
        let left: Vec<_> = results.0.iter().map(|entered| entered.game).collect();
        assert_eq!(left, [1], "another player, another result, no game any more");
    }
}
