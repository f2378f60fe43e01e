//! Attaches a player, or a line of players, to a port, and moves bytes at their times.
#![allow(clippy::disallowed_methods)] // it runs on the wall clock

use std::{io, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    line::SimulatedLine,
    player::{Output, PlayedBoard},
    port::{Plug, Socket},
};
use crate::time::Millis;

/// One byte at 9600 baud, 8N1.
const BYTE: Duration = Duration::from_micros(1042);
/// Bytes that go out at once when the line is slow.
const CHUNK: usize = 8;

/// What is attached to a port: a board, or a line of many.
pub trait Device: Send + std::fmt::Debug {
    /// Whether the device speaks without being asked.
    fn speaks_unasked(&self) -> bool {
        false
    }
    /// A host may be there from now on.
    fn handle_connect(&mut self, _now: Millis) {}
    /// Bytes from the host.
    fn handle_bytes(&mut self, now: Millis, bytes: &[u8]);
    /// The host closed the port.
    fn handle_hang_up(&mut self, now: Millis);
    /// The time of [`Self::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Millis);
    /// When something happens next if the host does nothing.
    fn poll_timeout(&self) -> Option<Millis>;
    /// The next thing to do.
    fn poll_output(&mut self) -> Option<Output>;
}

impl Device for PlayedBoard {
    fn speaks_unasked(&self) -> bool {
        Self::speaks_unasked(self)
    }
    fn handle_connect(&mut self, now: Millis) {
        Self::handle_connect(self, now);
    }
    fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        Self::handle_bytes(self, now, bytes);
    }
    fn handle_hang_up(&mut self, now: Millis) {
        Self::handle_hang_up(self, now);
    }
    fn handle_timeout(&mut self, now: Millis) {
        Self::handle_timeout(self, now);
    }
    fn poll_timeout(&self) -> Option<Millis> {
        Self::poll_timeout(self)
    }
    fn poll_output(&mut self) -> Option<Output> {
        Self::poll_output(self)
    }
}

impl Device for SimulatedLine {
    fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        Self::handle_bytes(self, now, bytes);
    }
    fn handle_hang_up(&mut self, now: Millis) {
        Self::handle_hang_up(self, now);
    }
    fn handle_timeout(&mut self, now: Millis) {
        Self::handle_timeout(self, now);
    }
    fn poll_timeout(&self) -> Option<Millis> {
        Self::poll_timeout(self)
    }
    fn poll_output(&mut self) -> Option<Output> {
        Self::poll_output(self)
    }
}

/// How a board is served.
#[derive(Clone, Copy, Debug)]
pub struct Serving {
    /// Bytes go no faster than at 9600 baud, as on a real line.
    pub slow_line: bool,
    /// How long the board goes on answering after its capture is over. None: for ever.
    pub linger: Option<Duration>,
}

/// A board on a port.
#[derive(Debug)]
pub struct Station {
    player: Box<dyn Device>,
    place: Socket,
    port: Option<Plug>,
    serving: Serving,
    origin: Instant,
    /// A host may be at the other end.
    connected: bool,
    /// The host has said something since it came. Before that there may be nobody who hears.
    heard: bool,
    /// Bytes that wait for the line.
    out: Vec<u8>,
    /// When the line is free again.
    free: Instant,
    over: Option<Instant>,
}

impl Station {
    /// Plugs the board in.
    ///
    /// # Errors
    /// What the system says.
    pub async fn new(player: impl Device + 'static, mut place: Socket, serving: Serving) -> io::Result<Self> {
        let port = Plug::plug(&mut place).await?;
        let now = Instant::now();
        Ok(Self {
            player: Box::new(player),
            connected: matches!(place, Socket::Pty(_)),
            place,
            port: Some(port),
            serving,
            origin: now,
            heard: false,
            out: Vec::new(),
            free: now,
            over: None,
        })
    }

    /// What a host is to open.
    #[must_use]
    pub fn name(&self) -> String {
        self.port.as_ref().map(Plug::name).unwrap_or_default()
    }

    /// Serves until the capture is over and the time to linger has passed.
    ///
    /// # Errors
    /// What the system says of the port.
    pub async fn run(mut self) -> io::Result<()> {
        self.met();
        loop {
            self.carry_out().await?;
            let end = self
                .over
                .zip(self.serving.linger)
                .map(|(over, linger)| over + linger);
            if end.is_some_and(|end| end <= Instant::now()) {
                return Ok(());
            }
            let due = self
                .player
                .poll_timeout()
                .map(|due| self.origin + Duration::from_millis(due.0));
            self.wait([due, end].into_iter().flatten().min()).await?;
        }
    }

    fn now(&self) -> Millis {
        // The milliseconds of any run fit: a day has 86 million.
        Millis(self.origin.elapsed().as_millis() as u64)
    }

    /// Does what the player wants.
    async fn carry_out(&mut self) -> io::Result<()> {
        while let Some(output) = self.player.poll_output() {
            match output {
                Output::Send(bytes) if self.heard => self.out.extend(bytes),
                Output::Send(_) => {}
                Output::Unplug => {
                    self.port = None;
                    self.hang_up();
                }
                Output::Plug => {
                    self.port = Some(Plug::plug(&mut self.place).await?);
                    self.connected = matches!(self.place, Socket::Pty(_));
                    self.met();
                }
                Output::Over => self.over = Some(Instant::now()),
            }
        }
        Ok(())
    }

    fn hang_up(&mut self) {
        self.connected = false;
        self.heard = false;
        self.out.clear();
        self.player.handle_hang_up(self.now());
    }

    /// Waits for the host, for room on the line, or until `due`.
    async fn wait(&mut self, due: Option<Instant>) -> io::Result<()> {
        let timer = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let Some(port) = &mut self.port else {
            timer.await;
            self.player.handle_timeout(self.now());
            return Ok(());
        };
        if !self.connected {
            tokio::select! {
                early = port.connect() => {
                    self.connected = true;
                    self.met();
                    self.hear(&early?);
                }
                () = timer => self.player.handle_timeout(self.now()),
            }
            return Ok(());
        }
        let mut buffer = [0; 256];
        let chunk = if self.serving.slow_line {
            self.out.len().min(CHUNK)
        } else {
            self.out.len()
        };
        let (out, free) = (&self.out[..chunk], self.free);
        let write = async {
            sleep_until(free).await;
            port.write(out).await
        };
        tokio::select! {
            read = port.read(&mut buffer) => match read? {
                0 => self.hang_up(),
                n => self.hear(&buffer[..n]),
            },
            written = write, if chunk > 0 => self.written(written.ok()),
            () = timer => self.player.handle_timeout(self.now()),
        }
        Ok(())
    }

    /// A host may be there: a board that speaks unasked speaks now.
    fn met(&mut self) {
        if self.connected && self.player.speaks_unasked() {
            self.heard = true;
            self.player.handle_connect(self.now());
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.heard = true;
            self.player.handle_bytes(self.now(), bytes);
        }
    }

    fn written(&mut self, written: Option<usize>) {
        let Some(n) = written else {
            // The host is just leaving. The next read tells so.
            self.out.clear();
            return;
        };
        self.out.drain(..n);
        if self.serving.slow_line {
            // `n` is at most a chunk, so the product is small.
            self.free = self.free.max(Instant::now() - BYTE) + BYTE * n as u32;
        }
    }
}
