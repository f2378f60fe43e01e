//! Finds a board by the serial number that it reports itself.

use std::{
    collections::{HashMap, HashSet},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Mutex,
    time::{Instant, timeout_at},
};

use super::{OpenError, Opened, enumerate::Port, serial};
use crate::{
    dgt::{Command, Decoder, Message},
    families::Attachment,
    time::Millis,
};

/// How long a port may take to tell a number. A board answers within some tens of milliseconds. A board in bus mode
/// ignores the first command.
const PATIENCE: Duration = Duration::from_millis(1200);
/// The pause between two commands: a board's input holds ten bytes.
const PACE: Duration = Duration::from_millis(100);

/// What each port told when it was last asked, so that twenty boards are not found by four hundred questions. The
/// memory decides only which port is asked first, and which need not be asked once a board is found. The lock lets one
/// search run at a time: two would meet at a port that only one can open, and one of them would miss its board.
static REMEMBERED: Mutex<Memory> = Mutex::const_new(Memory(None));

/// What ports told, with the times at which their nodes were made. A port that was plugged in anew may lead to another
/// board.
struct Memory(Option<HashMap<PathBuf, (Made, Vec<String>)>>);

/// Seconds and nanoseconds of the Unix time.
type Made = (i64, i64);

impl Memory {
    fn of(&self, path: &Path) -> Option<&[String]> {
        let (made, numbers) = self.0.as_ref()?.get(path)?;
        (made_at(path)? == *made).then_some(numbers)
    }

    fn keep(&mut self, path: PathBuf, numbers: Vec<String>) {
        if let Some(made) = made_at(&path) {
            self.0.get_or_insert_default().insert(path, (made, numbers));
        }
    }
}

fn made_at(path: &Path) -> Option<Made> {
    let metadata = path.metadata().ok()?;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

/// Opens the port whose board tells the number `wanted`. If two boards tell it, neither is taken: after a cable was
/// out, the game of one could go on at the other.
pub(super) async fn open(wanted: &str, candidates: &[PathBuf]) -> Result<Opened, OpenError> {
    let mut remembered = REMEMBERED.lock().await;
    let candidates = in_order(wanted, candidates, &remembered).await?;
    let (mut found, mut asked) = (Vec::new(), Vec::new());
    for path in candidates {
        let is_another = |numbers: &[String]| !says(numbers, wanted);
        if !found.is_empty() && remembered.of(&path).is_some_and(is_another) {
            continue;
        }
        match serial::open(path.clone(), Attachment::DGT).await {
            Err(error) => asked.push(format!("{} ({})", path.display(), error.code())),
            Ok(mut opened) => {
                let numbers = numbers_of(&mut opened).await;
                asked.push(told(&path, &numbers));
                if says(&numbers, wanted) {
                    found.push(opened);
                }
                remembered.keep(path, numbers);
            }
        }
    }
    if found.len() > 1 {
        return Err(OpenError::BoardDoubled {
            serial: wanted.to_owned(),
            ports: found.into_iter().map(|opened| opened.name).collect(),
        });
    }
    found.pop().ok_or_else(|| OpenError::NoSuchBoard {
        serial: wanted.to_owned(),
        asked,
    })
}

/// The ports that may be asked, each once, in the order of their chance to be right.
async fn in_order(wanted: &str, given: &[PathBuf], remembered: &Memory) -> Result<Vec<PathBuf>, OpenError> {
    let mut candidates = given.to_vec();
    if candidates.is_empty() {
        let ports = serial::list(&format!("board:{wanted}")).await?.into_iter();
        candidates = ports.filter(Port::may_be_board).map(|port| port.path).collect();
    }
    candidates.sort_by_key(|path| match remembered.of(path) {
        Some(numbers) if says(numbers, wanted) => 0,
        None => 1,
        Some(_) => 2,
    });
    let mut devices = HashSet::new();
    candidates.retain(|path| devices.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(candidates)
}

fn says(numbers: &[String], wanted: &str) -> bool {
    numbers.iter().any(|number| same_number(number, wanted))
}

fn told(path: &Path, numbers: &[String]) -> String {
    let numbers = if numbers.is_empty() {
        "no answer".to_owned()
    } else {
        numbers.join(" or ")
    };
    format!("{} ({numbers})", path.display())
}

/// People leave out leading zeros.
pub(crate) fn same_number(a: &str, b: &str) -> bool {
    a.trim_start_matches('0') == b.trim_start_matches('0')
}

/// The serial numbers, short and long, that the device tells; none when it is silent.
pub(super) async fn numbers_of(opened: &mut Opened) -> Vec<String> {
    let mut decoder = Decoder::new();
    let mut numbers: Vec<String> = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    // Reset ends bus mode and a stream of updates. A board does not answer it.
    for command in [Command::Reset, Command::Serial, Command::LongSerial] {
        if opened.io.write_all(&command.bytes()).await.is_err() {
            return numbers;
        }
        listen(opened, &mut decoder, &mut numbers, Instant::now() + PACE).await;
    }
    while numbers.is_empty() && Instant::now() < deadline {
        if !listen(opened, &mut decoder, &mut numbers, deadline).await {
            break;
        }
    }
    numbers
}

/// Listens until `deadline` or until the first number. False when the device is gone.
async fn listen(
    opened: &mut Opened,
    decoder: &mut Decoder,
    numbers: &mut Vec<String>,
    deadline: Instant,
) -> bool {
    let mut buffer = [0; 256];
    let before = numbers.len();
    while numbers.len() == before {
        match timeout_at(deadline, opened.io.read(&mut buffer)).await {
            Err(_) => return true,
            Ok(Err(_) | Ok(0)) => return false,
            // The times of these messages do not matter, so one time serves for all.
            Ok(Ok(n)) => decoder.push(Millis(0), &buffer[..n], &mut |message| {
                if let Message::Serial(number) = message {
                    numbers.push(number.to_owned());
                }
            }),
        }
    }
    true
}
