use std::path::Path;

use super::*;
use crate::{
    event::{Body, Event},
    journal::open,
};

fn first_event() -> Entry {
    let event = Event {
        v: 1,
        formerly: None,
        id: "gw/7/1".to_owned(),
        seq: 1,
        body: Body::Notice {
            code: "test".to_owned(),
            message: "m".to_owned(),
        },
        board: "7".to_owned(),
        game: None,
        t: 0.0,
        at: None,
        time: None,
        source: None,
        by: None,
    };
    Entry {
        board: "7".to_owned(),
        events: vec![event],
        ..Entry::default()
    }
}

/// A writer, and a receiver that wakes up at its news.
fn writer(path: &Path) -> (JournalWriter, watch::Receiver<u64>) {
    let settings = JournalSettings::at(path);
    let ready = open::open(&settings, "gw").unwrap();
    let (news, told) = watch::channel(0);
    let tells = Tells {
        news,
        trouble: watch::channel(Vec::new()).0,
        unsecured: watch::channel(false).0,
        disputed: watch::channel(false).0,
    };
    let writer = JournalWriter::new(ready, settings, "gw".to_owned(), tells).unwrap();
    (writer, told)
}

/// Holds that an event in one group with `other` wakes the publisher.
fn is_told_beside(other: JournalRequest) {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = writer(&folder.path().join("journal.sqlite"));
    let (requests, receiver) = mpsc::channel(4);
    let (answer, mut committed) = oneshot::channel();
    requests
        .try_send(JournalRequest::Append(first_event(), answer))
        .ok()
        .unwrap();
    requests.try_send(other).ok().unwrap();
    drop(requests);
    writer.run(receiver);
    assert_eq!(committed.try_recv().unwrap().unwrap(), Written::Disk);
    assert_eq!(*told.borrow(), 1);
}

#[test]
fn an_event_is_told_that_came_just_before_housekeeping() {
    is_told_beside(JournalRequest::Tick(oneshot::channel().0));
}

#[test]
fn an_event_is_told_that_came_just_before_another_took_the_name() {
    is_told_beside(JournalRequest::StandBy(true));
}
