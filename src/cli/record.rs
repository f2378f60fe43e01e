//! `dgt2mqtt record`: writes down what a board and the host say to each other.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use fastrand::Rng;
use jiff::Timestamp;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::sleep,
};

use super::names;
use crate::{
    capture::{Act, Header, Record as Line},
    dgt::{CommandBytes, Decoder, Mask, Session, Wish, line::budget},
    families::Driver,
    link::{
        Backoff, LinkSource, Opened,
        file::{CaptureFileError, CaptureWriter},
    },
    time::Millis,
    watcher::{MOST_GATHERED_MS, Protocol},
};

/// Write a capture from a live board, until Ctrl-C.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// The port: /dev/serial/by-id/..., usb:SERIAL, board:SERIAL, board:SERIAL@PORT, tcp://host:port
    #[arg(long, short)]
    port: LinkSource,
    /// The capture to write (.dgtcap, .dgtcap.zst)
    #[arg(long, short)]
    output: PathBuf,
    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
    /// Leave out what says whose board it is and when it was: serial number, date, the board's id
    #[arg(long, conflicts_with = "board")]
    anonymous: bool,
    /// What the board speaks
    #[arg(long, value_parser = names::one_of::<Protocol, _>(Protocol::NAMES), default_value = "dgt")]
    protocol: Protocol,
    /// How long what stands between gathers bytes before it hands them on, in milliseconds, for the header
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=MOST_GATHERED_MS))]
    gathered: Option<u64>,
    /// The board's id, for the header
    #[arg(long, value_parser = names::board_id)]
    board: Option<String>,
    /// Edition of the Laws of Chess, for the header
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(names::LAWS))]
    laws: Option<String>,
    /// Time control, for the header
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(names::TIME_CONTROLS))]
    time_control: Option<String>,
    /// Supervision, for the header
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(names::SUPERVISIONS))]
    supervision: Option<String>,
    /// Periods of the time control, for the header: "40/90+30, 30+30"
    #[arg(long)]
    periods: Option<String>,
}

/// How often the records are handed to the disk.
const SAVE_EVERY: Duration = Duration::from_secs(5);

impl RecordArgs {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if !self.force && self.output.exists() {
            return Err(CaptureFileError::Exists(self.output).into());
        }
        if matches!(self.port, LinkSource::Timed(_)) {
            anyhow::bail!(
                "record where the board is attached: what comes from `forward` is a capture already"
            );
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // The file begins when there is something to record, so a mistyped port leaves no file.
        let opened = runtime.block_on(self.port.open_as(self.protocol.line()))?;
        let mut recorder = Recorder {
            writer: CaptureWriter::create(&self.output, &self.header()?, self.force)?,
            origin: Instant::now(),
            protocol: self.protocol,
            talk: Talk::new(self.protocol),
            // Boards of other families do not tell whose they are.
            mask: (self.anonymous && self.protocol == Protocol::Dgt).then(Mask::default),
            heard: 0,
            is_silent: false,
        };
        runtime.block_on(async {
            tokio::select! {
                failed = recorder.record(&self.port, opened) => failed,
                stopped = super::exit::stopped() => stopped.context("cannot wait for signals"),
            }
        })?;
        let said = match recorder.heard {
            0 => "but no board has said anything".to_owned(),
            bytes => format!("{bytes} bytes of the board in {} s", recorder.now().0 / 1000),
        };
        recorder.writer.finish()?;
        eprintln!("Recorded {}: {said}.", self.output.display());
        Ok(())
    }

    fn header(&self) -> anyhow::Result<Header> {
        let mut header = Header::default();
        let keys = [
            ("board", &self.board),
            ("laws", &self.laws),
            ("time-control", &self.time_control),
            ("supervision", &self.supervision),
            ("periods", &self.periods),
        ];
        for (key, value) in keys {
            if let Some(value) = value {
                header.push(key, value)?;
            }
        }
        if self.protocol != Protocol::Dgt {
            header.push("protocol", self.protocol.name())?;
        }
        // A board on a shared line is asked at intervals; alone there, its interval is this long.
        let of_line = matches!(self.port, LinkSource::Shared(_)).then(|| budget::gathered_ms(1));
        if let Some(ms) = self.gathered.or(of_line) {
            header.push("gathered", &format!("{ms} ms"))?;
        }
        if !self.anonymous {
            let now = Timestamp::now();
            header.push("start", &format!("{now:.3}"))?;
        }
        Ok(header)
    }
}

struct Recorder {
    writer: CaptureWriter,
    origin: Instant,
    protocol: Protocol,
    talk: Talk,
    /// Replaces what tells whose the board is.
    mask: Option<Mask>,
    /// How many bytes the board sent.
    heard: u64,
    /// True once the user was told that no board answers.
    is_silent: bool,
}

/// The conversation with the board.
enum Talk {
    Dgt(Box<Session>, Decoder),
    Whole(Box<dyn Driver>),
}

impl Talk {
    fn new(protocol: Protocol) -> Self {
        match protocol.family() {
            None => Self::Dgt(Box::default(), Decoder::new()),
            Some(family) => Self::Whole((family.driver)()),
        }
    }

    fn link_up(&mut self, now: Millis, protocol: Protocol) {
        match self {
            Self::Dgt(session, decoder) => {
                session.link_up(now);
                decoder.clear();
            }
            Self::Whole(_) => {
                *self = Self::new(protocol);
                if let Self::Whole(driver) = self {
                    driver.link_up(now);
                }
            }
        }
    }

    fn heard(&mut self, now: Millis, bytes: &[u8]) {
        match self {
            Self::Dgt(session, decoder) => {
                decoder.push(now, bytes, &mut |message| session.heard(now, &message));
                session.check_line(now, decoder.stats());
            }
            Self::Whole(driver) => driver.bytes(now, bytes, &mut |_| {}),
        }
    }

    fn handle_timeout(&mut self, now: Millis) {
        match self {
            Self::Dgt(session, _) => session.handle_timeout(now),
            Self::Whole(driver) => driver.handle_timeout(now),
        }
    }

    fn poll_timeout(&self) -> Option<Millis> {
        match self {
            Self::Dgt(session, _) => session.poll_timeout(),
            Self::Whole(driver) => driver.poll_timeout(),
        }
    }

    fn poll_transmit(&mut self) -> Option<CommandBytes> {
        match self {
            Self::Dgt(session, _) => session.poll_transmit().map(|command| command.bytes()),
            Self::Whole(driver) => driver.poll_transmit(),
        }
    }

    fn poll_wish(&mut self) -> Option<Wish> {
        match self {
            Self::Dgt(session, _) => session.poll_wish(),
            Self::Whole(driver) => driver.poll_wish(),
        }
    }
}

impl Recorder {
    fn now(&self) -> Millis {
        // A day has 86 million milliseconds, so they fit.
        Millis(self.origin.elapsed().as_millis() as u64)
    }

    fn write(&mut self, at: Millis, act: Act) -> anyhow::Result<()> {
        Ok(self.writer.write(&Line { at, act })?)
    }

    /// Records until the file fails, through as many links as it takes.
    async fn record(&mut self, source: &LinkSource, mut opened: Opened) -> anyhow::Result<()> {
        let (mut backoff, mut rng) = (Backoff::new(250, 5000, 10_000), Rng::new());
        let mut first = true;
        loop {
            if !self.is_silent {
                eprintln!("Recording {}; Ctrl-C ends.", opened.name);
            }
            let (now, before) = (self.now(), self.heard);
            if !first {
                self.write(now, Act::LinkUp)?;
            }
            first = false;
            backoff.up(now);
            self.talk.link_up(now, self.protocol);
            self.mask = self.mask.take().map(|_| Mask::default());
            self.follow(&mut opened).await?;
            let name = std::mem::take(&mut opened.name);
            drop(opened); // before it can be found again
            let now = self.now();
            self.write(now, Act::LinkDown)?;
            self.writer.save()?;
            if self.heard > before {
                eprintln!("The board is gone; waiting for it.");
            } else if !std::mem::replace(&mut self.is_silent, true) {
                eprintln!("No board answers at {name}: is it switched on? Waiting for it.");
            }
            opened = loop {
                let wait = backoff.failed(self.now(), &mut rng);
                sleep(Duration::from_millis(wait)).await;
                if let Ok(opened) = source.open_as(self.protocol.line()).await {
                    break opened;
                }
            };
        }
    }

    /// Records until the link is gone or the session wants another.
    async fn follow(&mut self, link: &mut Opened) -> anyhow::Result<()> {
        let mut buffer = [0; 1024];
        let mut saved = Instant::now();
        loop {
            if let Some(Wish::Reopen) = self.talk.poll_wish() {
                return Ok(());
            }
            if let Some(bytes) = self.talk.poll_transmit() {
                let now = self.now();
                if link.io.write_all(&bytes).await.is_err() {
                    return Ok(());
                }
                self.write(now, Act::ToBoard(bytes.to_vec()))?;
                continue;
            }
            if saved.elapsed() >= SAVE_EVERY {
                self.writer.save()?;
                saved = Instant::now();
            }
            let due = self
                .talk
                .poll_timeout()
                .map_or(SAVE_EVERY, |due| Duration::from_millis(due.since(self.now())));
            tokio::select! {
                read = link.io.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(n) => self.heard(&buffer[..n])?,
                },
                () = sleep(due) => self.talk.handle_timeout(self.now()),
            }
        }
    }

    fn heard(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let now = self.now();
        self.heard += bytes.len() as u64;
        if std::mem::take(&mut self.is_silent) {
            eprintln!("The board answers.");
        }
        let mut recorded = bytes.to_vec();
        if let Some(mask) = &mut self.mask {
            mask.hide(&mut recorded);
        }
        self.write(now, Act::FromBoard(recorded))?;
        self.talk.heard(now, bytes);
        Ok(())
    }
}
