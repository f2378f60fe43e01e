//! A line that many boards share: one port, and a link for each board.
//!
//! Whoever opens a [`LinePlace`] gets a connection on which its board speaks as on a line of its own. The connection
//! ends when the board does not answer any more. The [`Hub`] owns the port: it writes the questions of the [`Master`],
//! and passes on what the boards say.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex},
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep_until, timeout, timeout_at},
};

use super::{Allowance, Io, OpenError, Opened};
use crate::{
    dgt::{
        bus::Address,
        line::{Figures, Master, Said, discovery::Discovery},
    },
    time::Millis,
};

/// How many bytes a connection holds: some seconds of a board, with a log.
const CONNECTION: usize = 12_288;
/// How many places may be opened at once.
const ARRIVALS: usize = 64;
/// How often the hub tells its figures.
const FIGURES: Duration = Duration::from_secs(2);
/// For how long the figures tell the longest time in which a board was not asked.
const LONGEST_OF: Duration = Duration::from_secs(30);
/// How many bytes of questions may wait for the port. If there are more, the line does not send.
const MOST_UNSENT: usize = 256;
/// How much work the line may cause at once. A line of 9600 baud takes a thousandth of a computer's time, and so never
/// comes near it.
const BURST: Duration = Duration::from_millis(200);
/// How long a place waits for a board that does not answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// A board's place at a line, whose port a [`Hub`] holds.
#[derive(Clone, Debug)]
pub struct LinePlace {
    name: String,
    address: Address,
    arrivals: mpsc::Sender<(Address, DuplexStream)>,
    here: watch::Receiver<bool>,
}

impl LinePlace {
    /// Opens a connection to the board, if the board answers within some seconds: on a line that was just opened, not
    /// every board has been asked.
    ///
    /// # Errors
    /// [`OpenError::NotOnLine`] where the board does not answer.
    pub(super) async fn open(&self) -> Result<Opened, OpenError> {
        let mut here = self.here.clone();
        let is_here = matches!(timeout(PATIENCE, here.wait_for(|here| *here)).await, Ok(Ok(_)));
        let (ours, theirs) = duplex(CONNECTION);
        if !is_here || self.arrivals.send((self.address, theirs)).await.is_err() {
            return Err(OpenError::NotOnLine(self.name.clone()));
        }
        Ok(Opened {
            io: Box::new(ours),
            name: self.name.clone(),
        })
    }
}

/// Opens the line on `port` for one board alone.
///
/// # Errors
/// As [`LinePlace::open`].
pub(super) async fn alone(board: (Address, String), name: String, port: Opened) -> Result<Opened, OpenError> {
    let (mut hub, mut places) = Hub::new([(board.0, board.1, name.clone())]);
    let line = port.name;
    let task = Task(tokio::spawn(async move {
        hub.drive(&line, port.io, || {}).await;
    }));
    let place = places.pop().ok_or(OpenError::NotOnLine(name))?;
    let opened = place.open().await?;
    Ok(Opened {
        io: Box::new(Alone {
            io: opened.io,
            _task: task,
        }),
        name: opened.name,
    })
}

/// The boards that answer on a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Addresses of boards.
    pub boards: Vec<u16>,
    /// Addresses that two boards have.
    pub doubled: Vec<u16>,
}

/// Asks which boards are on an open line, until no new one answers.
pub async fn discover(port: Opened) -> Found {
    let (mut io, origin) = (port.io, Instant::now());
    let now = || Millis(origin.elapsed().as_millis() as u64);
    let (mut discovery, mut buffer) = (Discovery::new(), [0; 256]);
    while !discovery.is_over() {
        discovery.handle_timeout(now());
        while let Some(question) = discovery.poll_transmit() {
            if io.write_all(&question).await.is_err() {
                return Found::default();
            }
        }
        let due = discovery.poll_timeout().unwrap_or_default();
        match timeout_at(origin + Duration::from_millis(due.0), io.read(&mut buffer)).await {
            Ok(Ok(count)) if count > 0 => discovery.handle_bytes(now(), &buffer[..count]),
            Ok(_) => break,
            Err(_) => {}
        }
    }
    let numbers = |addresses: Vec<Address>| addresses.into_iter().map(Address::get).collect();
    Found {
        boards: numbers(discovery.found()),
        doubled: numbers(discovery.doubled()),
    }
}

/// A task that ends when its owner drops this.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The connection of a board that has the line for itself.
struct Alone {
    io: Box<dyn Io>,
    _task: Task,
}

impl AsyncRead for Alone {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Alone {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// The connection of one board, as the hub holds it.
#[derive(Debug)]
struct Seat {
    stream: Option<DuplexStream>,
    here: watch::Sender<bool>,
}

/// Holds the port of a line.
#[derive(Debug)]
pub struct Hub {
    master: Master,
    seats: BTreeMap<Address, Seat>,
    arrivals: mpsc::Receiver<(Address, DuplexStream)>,
    figures: Arc<watch::Sender<Figures>>,
    origin: Instant,
    /// The longest time in which a board was not asked, and when the hub noted it.
    longest: Option<(Instant, u64)>,
    /// True once the log has told that the line sends too much.
    floods: bool,
}

impl Hub {
    /// A hub for boards with their serial numbers and the names of their places; and the places.
    #[must_use]
    pub fn new(boards: impl IntoIterator<Item = (Address, String, String)>) -> (Self, Vec<LinePlace>) {
        let (sender, arrivals) = mpsc::channel(ARRIVALS);
        let (mut seats, mut places, mut members) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (address, serial, name) in boards {
            let (here, is_here) = watch::channel(false);
            seats.insert(address, Seat { stream: None, here });
            places.push(LinePlace {
                name,
                address,
                arrivals: sender.clone(),
                here: is_here,
            });
            members.push((address, serial));
        }
        let hub = Self {
            master: Master::new(members),
            seats,
            arrivals,
            figures: Arc::new(watch::channel(Figures::default()).0),
            origin: Instant::now(),
            longest: None,
            floods: false,
        };
        (hub, places)
    }

    /// The figures of the line.
    #[must_use]
    pub fn figures(&self) -> watch::Receiver<Figures> {
        self.figures.subscribe()
    }

    /// Makes the hub also look for boards that the configuration does not name.
    #[must_use]
    pub fn searching(self) -> Self {
        Self {
            master: self.master.searching(),
            ..self
        }
    }

    /// The present time of the line.
    #[must_use]
    pub fn now(&self) -> Millis {
        // A process runs for less than 292 million years.
        Millis(self.origin.elapsed().as_millis() as u64)
    }

    /// Lets the boards speak over `io`, the port of this `line`, until the port is lost, and returns the reason. Calls
    /// `beat` every few seconds at least.
    pub async fn drive(&mut self, line: &str, io: Box<dyn Io>, beat: impl Fn()) -> String {
        let (mut allowance, mut busy) = (Allowance::of(self.now(), BURST), None::<Instant>);
        let (mut read, mut write) = tokio::io::split(io);
        let (mut buffer, mut unsent) = ([0; 256], Vec::new());
        let mut told = Instant::now();
        let reason = loop {
            beat();
            self.master.handle_timeout(self.now());
            self.pass_on();
            while let Some(question) = self.master.poll_transmit() {
                unsent.extend(question);
            }
            if unsent.len() > MOST_UNSENT {
                break "the port takes no more".to_owned();
            }
            if told <= Instant::now() {
                told = Instant::now() + FIGURES;
                self.tell();
            }
            let due = self
                .master
                .poll_timeout()
                .map(|due| self.origin + Duration::from_millis(due.0));
            if let Some(since) = busy.take() {
                allowance.spent(since.elapsed());
            }
            let again = allowance.wait(self.now());
            if again.is_some() && !std::mem::replace(&mut self.floods, true) {
                tracing::warn!(
                    code = "line_floods",
                    "line {line}: it sends more than boards on a shared line have to say and is read slowly: is another device on this port?"
                );
            }
            let again_at = again.map(|again| self.origin + Duration::from_millis(again.0));
            let wake = [due, again_at].into_iter().flatten().fold(told, Instant::min);
            tokio::select! {
                got = read.read(&mut buffer), if again.is_none() => match got {
                    Ok(0) => break "the port is gone".to_owned(),
                    Ok(count) => {
                        busy = Some(Instant::now());
                        self.master.handle_bytes(self.now(), &buffer[..count]);
                    }
                    Err(error) => break error.to_string(),
                },
                sent = write.write(&unsent), if !unsent.is_empty() => match sent {
                    Ok(0) => break "the port takes no more".to_owned(),
                    Ok(count) => drop(unsent.drain(..count)),
                    Err(error) => break error.to_string(),
                },
                Some((address, stream)) = self.arrivals.recv() => self.seat(address, stream),
                (address, words) = poll_fn(|cx| heard(&mut self.seats, cx)) => match words {
                    Some(words) => self.master.handle_words(self.now(), address, &words),
                    None => self.leave(address),
                },
                () = sleep_until(wake) => {}
            }
        };
        self.master.handle_lost();
        self.pass_on();
        self.tell();
        reason
    }

    fn tell(&mut self) {
        let mut figures = self.master.take_figures(self.now());
        let (since, longest) = self.longest.unwrap_or_else(|| (Instant::now(), 0));
        let longest = longest.max(figures.longest_ms);
        let is_over = since.elapsed() >= LONGEST_OF;
        self.longest = (!is_over).then_some((since, longest));
        figures.longest_ms = longest;
        self.figures.send_replace(figures);
    }

    fn seat(&mut self, address: Address, stream: DuplexStream) {
        if let Some(seat) = self.seats.get_mut(&address).filter(|seat| *seat.here.borrow()) {
            seat.stream = Some(stream);
            self.master.handle_watcher(address);
        }
    }

    fn leave(&mut self, address: Address) {
        if let Some(seat) = self.seats.get_mut(&address) {
            seat.stream = None;
        }
    }

    /// Passes the boards' bytes on to the connections. A connection that does not take them is closed, and its watcher
    /// opens it again.
    fn pass_on(&mut self) {
        while let Some((address, said)) = self.master.poll_said() {
            let Some(seat) = self.seats.get_mut(&address) else {
                continue;
            };
            match said {
                Said::Here => drop(seat.here.send_replace(true)),
                Said::Gone => {
                    seat.here.send_replace(false);
                    seat.stream = None;
                }
                Said::Bytes(bytes) => {
                    let takes = seat.stream.as_mut().is_some_and(|stream| takes(stream, &bytes));
                    seat.stream = seat.stream.take().filter(|_| takes);
                }
            }
        }
    }
}

/// Writes all of `bytes` at once, if there is room.
fn takes(stream: &mut DuplexStream, bytes: &[u8]) -> bool {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    // Without `unconstrained` other work of this task could make it look as if there were no room.
    let mut write = std::pin::pin!(tokio::task::unconstrained(stream.write_all(bytes)));
    matches!(write.as_mut().poll(&mut cx), Poll::Ready(Ok(())))
}

/// The bytes that the next connection says to its board; none when the connection is closed.
fn heard(seats: &mut BTreeMap<Address, Seat>, cx: &mut Context<'_>) -> Poll<(Address, Option<Vec<u8>>)> {
    for (address, seat) in seats {
        let Some(stream) = &mut seat.stream else { continue };
        let mut buffer = [0; 64];
        let mut read = ReadBuf::new(&mut buffer);
        if let Poll::Ready(result) = Pin::new(stream).poll_read(cx, &mut read) {
            let words = read.filled().to_vec();
            let is_there = result.is_ok() && !words.is_empty();
            return Poll::Ready((*address, is_there.then_some(words)));
        }
    }
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capture::Capture,
        sim::{
            board::SimulatedIdentity,
            line::{SimulatedLine, Troubles},
            player::{Output, Pace, PlayedBoard},
            slave::Slave,
        },
    };

    /// Simulates one board on a line, at the other end of `io`, until that is closed.
    async fn board(mut io: DuplexStream, address: Address) {
        let capture = Capture::parse(b"# dgtcap 1\n0.0 < 8d 00 0a 20 03 02 20 03 02 08\n").unwrap();
        let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), Pace::default());
        let mut line = SimulatedLine::new(
            vec![player.on_line(Slave::new(address.get()))],
            Troubles::default(),
            1,
        );
        let (origin, mut buffer) = (Instant::now(), [0; 64]);
        let now = || Millis(origin.elapsed().as_millis() as u64);
        loop {
            line.handle_timeout(now());
            while let Some(output) = line.poll_output() {
                if let Output::Send(bytes) = output
                    && io.write_all(&bytes).await.is_err()
                {
                    return;
                }
            }
            let due = line.poll_timeout().unwrap_or_else(|| now() + 50);
            match timeout_at(origin + Duration::from_millis(due.0), io.read(&mut buffer)).await {
                Ok(Ok(count)) if count > 0 => line.handle_bytes(now(), &buffer[..count]),
                Ok(_) => return,
                Err(_) => {}
            }
        }
    }

    /// A device that sends without end, for a while.
    struct Babble(Instant);

    impl AsyncRead for Babble {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.0.elapsed() < Duration::from_secs(3) {
                let words = [0x87, 0, 6, 8, 1, 0x16];
                buffer.put_slice(&words.repeat(buffer.remaining() / words.len()));
            }
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Babble {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, words: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(words.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_line_that_babbles_is_read_slowly() {
        let (mut hub, _places) = Hub::new([(Address::new(7).unwrap(), "7".to_owned(), "bus:7@x".to_owned())]);
        let reason = hub.drive("x", Box::new(Babble(Instant::now())), || {}).await;
        assert_eq!(reason, "the port is gone");
        assert!(hub.floods);
    }

    /// Holds that boards go with a port that is lost, and come back when it is opened again.
    #[tokio::test]
    async fn a_line_that_is_lost_and_opened_again() {
        let address = Address::new(1025).unwrap();
        let (mut hub, places) = Hub::new([(address, "01025".to_owned(), "bus:01025@x".to_owned())]);
        for _ in 0..2 {
            let (ours, theirs) = duplex(1024);
            let far = tokio::spawn(board(theirs, address));
            let watching = async {
                let mut opened = places[0].open().await.unwrap();
                assert_eq!(opened.name, "bus:01025@x");
                opened.io.write_all(b"E").await.unwrap();
                let mut serial = [0; 8];
                opened.io.read_exact(&mut serial).await.unwrap();
                assert_eq!(serial, *b"\x91\x00\x0801025");
                far.abort();
                assert_eq!(
                    opened.io.read(&mut serial).await.unwrap(),
                    0,
                    "it goes with the line"
                );
            };
            let (reason, ()) = tokio::join!(hub.drive("x", Box::new(ours), || {}), watching);
            assert_eq!(reason, "the port is gone");
        }
        assert!(!hub.figures().borrow().boards[0].is_here);
    }
}
