//! The people who may use the page. Each has a token of his own, with a name and a role, until the token is taken back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use crate::config::{Person, Role, Secret};

/// The commands that an operator may send to a board, which only help to read it. Results, rulings and half-moves are
/// an arbiter's. So are a new game and a position, which end a game or take half-moves back.
const OPERATORS: [&str; 2] = ["resync", "promotion"];

/// Somebody who is on the page.
#[derive(Clone, Debug)]
pub(super) struct Guest {
    /// The guest's number, never 0. It changes with the role and with the token.
    pub(super) id: u64,
    /// None for the holder of the command line's token, and for whoever sits at this machine.
    pub(super) name: Option<String>,
    pub(super) role: Role,
    /// Cancelled when the guest's token is taken back.
    pub(super) gone: CancellationToken,
}

impl Guest {
    /// True where the guest may send this command to a board.
    pub(super) fn may(&self, verb: &str) -> bool {
        self.verbs().is_none_or(|verbs| verbs.contains(&verb))
    }

    /// The commands that the guest may send to boards; none where he may send all.
    pub(super) fn verbs(&self) -> Option<&'static [&'static str]> {
        match self.role {
            Role::Arbiter => None,
            Role::Operator => Some(&OPERATORS),
            Role::ReadOnly => Some(&[]),
        }
    }
}

/// A guest and his token.
#[derive(Clone, Debug)]
struct Link {
    guest: Guest,
    token: Secret,
}

#[derive(Debug)]
struct Inside {
    /// The guests of the configuration, then the holder of the command line's token.
    links: Vec<Link>,
    /// The guest at this machine, where nobody needs a token. Once tokens are needed they stay needed until the program
    /// ends, so taking the last one back does not open the page.
    local: Option<Guest>,
    last_id: u64,
}

/// All who may use the page.
#[derive(Clone, Debug)]
pub(super) struct People(Arc<Mutex<Inside>>);

impl People {
    /// The holder of `token` and everybody in `people`; with neither, whoever is on this machine.
    pub(super) fn new(token: Option<Secret>, people: Vec<Person>) -> Self {
        let mut inside = Inside {
            links: Vec::new(),
            local: None,
            last_id: 0,
        };
        match token {
            Some(token) => {
                let guest = inside.guest(None, Role::Arbiter);
                inside.links.push(Link { guest, token });
            }
            None if people.is_empty() => inside.local = Some(inside.guest(None, Role::Arbiter)),
            None => {}
        }
        inside.set(people);
        Self(Arc::new(Mutex::new(inside)))
    }

    /// Replaces the people, and ends the connections of those who are not among them as before.
    pub(super) fn set(&self, people: Vec<Person>) {
        self.inside().set(people);
    }

    /// The guest who needs no token; none where everybody needs one.
    pub(super) fn local(&self) -> Option<Guest> {
        self.inside().local.clone()
    }

    /// The guest with this token. The search takes as long for a wrong token as for a right one.
    pub(super) fn with_token(&self, text: &str) -> Option<Guest> {
        let mut found = None;
        for link in &self.inside().links {
            if bool::from(text.as_bytes().ct_eq(link.token.reveal().as_bytes())) {
                found = Some(link.guest.clone());
            }
        }
        found
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // A list and a number: a task that panicked left them whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn guest(&mut self, name: Option<String>, role: Role) -> Guest {
        self.last_id += 1;
        Guest {
            id: self.last_id,
            name,
            role,
            gone: CancellationToken::new(),
        }
    }

    fn set(&mut self, people: Vec<Person>) {
        let mut before = std::mem::take(&mut self.links);
        for person in people {
            let is_same = |link: &Link| {
                link.guest.name.as_ref() == Some(&person.name)
                    && link.guest.role == person.role
                    && link.token == person.token
            };
            let link = match before.iter().position(is_same) {
                Some(place) => before.swap_remove(place),
                None => Link {
                    guest: self.guest(Some(person.name), person.role),
                    token: person.token,
                },
            };
            self.links.push(link);
        }
        if let Some(local) = self.local.take_if(|_| !self.links.is_empty()) {
            local.gone.cancel();
        }
        for link in before {
            if link.guest.name.is_none() {
                self.links.push(link);
            } else {
                link.guest.gone.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str, role: Role, token: &str) -> Person {
        Person {
            name: name.to_owned(),
            role,
            token: Secret::new(token),
        }
    }

    #[test]
    fn whoever_is_taken_back_goes_and_the_others_stay() {
        let anna = person("Anna", Role::Arbiter, "anna");
        let screen = person("hall", Role::ReadOnly, "screen");
        let people = People::new(Some(Secret::new("old")), vec![anna.clone(), screen.clone()]);
        assert!(people.local().is_none());
        let [was_anna, was_screen, old] =
            ["anna", "screen", "old"].map(|token| people.with_token(token).unwrap());
        assert!(people.with_token("ann").is_none() && people.with_token("").is_none());
        assert_eq!((old.name, old.role), (None, Role::Arbiter));
        people.set(vec![screen, person("Bert", Role::Operator, "bert")]);
        assert!(people.with_token("anna").is_none() && was_anna.gone.is_cancelled());
        assert!(people.with_token("screen").is_some() && !was_screen.gone.is_cancelled());
        assert!(people.with_token("old").is_some() && !old.gone.is_cancelled());
        assert_eq!(people.with_token("bert").unwrap().name.as_deref(), Some("Bert"));
        // The same person in another role is another guest.
        people.set(vec![person("hall", Role::Operator, "screen")]);
        assert!(was_screen.gone.is_cancelled());
    }

    #[test]
    fn taking_the_last_link_back_opens_nothing() {
        let people = People::new(None, Vec::new());
        let local = people.local().unwrap();
        people.set(vec![person("Anna", Role::Arbiter, "anna")]);
        assert!(people.local().is_none() && local.gone.is_cancelled());
        people.set(Vec::new());
        assert!(people.local().is_none() && people.with_token("anna").is_none());
    }

    #[test]
    fn each_role_may_do_its_own() {
        let people = People::new(
            None,
            vec![
                person("a", Role::Arbiter, "a"),
                person("o", Role::Operator, "o"),
                person("r", Role::ReadOnly, "r"),
            ],
        );
        let may = |token: &str, verb| people.with_token(token).unwrap().may(verb);
        for (verb, operator) in [
            ("resync", true),
            ("promotion", true),
            ("new_game", false),
            ("set_position", false),
            ("dismiss", false),
            ("result", false),
            ("report", false),
        ] {
            assert!(may("a", verb), "{verb}");
            assert_eq!(may("o", verb), operator, "{verb}");
            assert!(!may("r", verb), "{verb}");
        }
    }
}
