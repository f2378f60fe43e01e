//! `dgt2mqtt forward`: hands a board's bytes on over the network, with the times at which they were read.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use fastrand::Rng;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::{interval, sleep},
};

use super::names;
use crate::{
    capture::{Act, Header, Record as Line, stream::NOW, write_header, write_record},
    link::{Backoff, LinkSource, Opened},
    time::Millis,
    watcher::Protocol,
};

/// How often the stream says that nothing was heard.
const TICK: Duration = Duration::from_millis(200);
/// How many bytes may wait for a network that takes none: some minutes of a board.
const MOST_WAITING: usize = 1 << 20;
/// How many bytes a line with a command may have.
const MOST_LINE: usize = 256;

/// Hand a board on over the network, with the times at which its bytes were read, until Ctrl-C.
///
/// The daemon takes it as the port tcp+cap://HOST:PORT. Whoever reaches the address can read the board, and ask it what the
/// daemon asks: let only the daemon's machine do so.
#[derive(Debug, Args)]
pub(super) struct Forward {
    /// The port: /dev/serial/by-id/..., usb:SERIAL, board:SERIAL, board:SERIAL@PORT
    #[arg(long, short)]
    port: LinkSource,
    /// What the board speaks
    #[arg(long, value_parser = names::one_of::<Protocol, _>(Protocol::NAMES), default_value = "dgt")]
    protocol: Protocol,
    /// Where the daemon is waited for: 0.0.0.0:2000
    #[arg(long, short, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
}

impl Forward {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if matches!(self.port, LinkSource::Shared(_)) {
            anyhow::bail!(
                "a board on a line is asked in turn, and has no times of its own to hand on: configure it on the machine where the line is attached"
            );
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(self.listen).await;
            let listener = listener.with_context(|| format!("cannot listen at {}", self.listen))?;
            eprintln!("Listening at {}; Ctrl-C ends.", listener.local_addr()?);
            let mut forwarder = Forwarder {
                listener,
                protocol: self.protocol,
                origin: Instant::now(),
                client: None,
            };
            tokio::select! {
                failed = forwarder.forward(&self.port) => failed,
                stopped = super::exit::stopped() => stopped.context("cannot wait for signals"),
            }
        })
    }
}

struct Forwarder {
    listener: TcpListener,
    protocol: Protocol,
    origin: Instant,
    /// The client that connected last. An earlier one has lost its connection.
    client: Option<Client>,
}

struct Client {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    waiting: VecDeque<u8>,
    line: Vec<u8>,
}

impl Forwarder {
    fn now(&self) -> Millis {
        // A day has 86 million milliseconds, so they fit.
        Millis(self.origin.elapsed().as_millis() as u64)
    }

    async fn forward(&mut self, source: &LinkSource) -> anyhow::Result<()> {
        let (mut backoff, mut rng) = (Backoff::new(250, 5000, 10_000), Rng::new());
        let mut said = String::new();
        loop {
            match source.open_as(self.protocol.line()).await {
                Ok(mut opened) => {
                    eprintln!("Forwarding {}.", opened.name);
                    said.clear();
                    backoff.up(self.now());
                    self.follow(&mut opened).await?;
                    drop(opened); // before it can be found again
                    // The client begins anew, as after a cable that was out.
                    self.client = None;
                    eprintln!("The board is gone; waiting for it.");
                }
                Err(error) if said != error.to_string() => {
                    said = error.to_string();
                    eprintln!("{said}");
                }
                Err(_) => {}
            }
            let wait = backoff.failed(self.now(), &mut rng);
            sleep(Duration::from_millis(wait)).await;
        }
    }

    /// Hands on bytes until the board is gone.
    async fn follow(&mut self, board: &mut Opened) -> anyhow::Result<()> {
        let mut heard = [0; 1024];
        let mut asked = [0; 256];
        let mut tick = interval(TICK);
        loop {
            let (mut reading, mut writing, mut waiting) = (None, None, &[][..]);
            if let Some(client) = &mut self.client {
                waiting = client.waiting.as_slices().0;
                (reading, writing) = (Some(&mut client.read), Some(&mut client.write));
            }
            let has_client = reading.is_some();
            tokio::select! {
                read = board.io.read(&mut heard) => match read {
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(n) => self.say(Act::FromBoard(heard[..n].to_vec())),
                },
                accepted = self.listener.accept() => {
                    let (stream, from) = accepted.context("cannot take connections any more")?;
                    eprintln!("{from} listens.");
                    self.client = Client::new(stream).ok();
                }
                read = read_some(reading, &mut asked), if has_client => match read {
                    Ok(0) | Err(_) => self.client = None,
                    Ok(n) => {
                        for command in self.asked(&asked[..n]) {
                            if board.io.write_all(&command).await.is_err() {
                                return Ok(());
                            }
                        }
                    }
                },
                written = write_some(writing, waiting), if !waiting.is_empty() => match written {
                    Ok(0) | Err(_) => self.client = None,
                    Ok(n) => {
                        if let Some(client) = &mut self.client {
                            client.waiting.drain(..n);
                        }
                    }
                },
                _ = tick.tick() => {
                    let text = format!("{NOW}{:.3}\n", self.now().seconds());
                    self.hand_on(text.as_bytes());
                }
            }
        }
    }

    fn say(&mut self, act: Act) {
        let mut line = String::new();
        // Writing to a String cannot fail.
        let _ = write_record(&mut line, &Line { at: self.now(), act });
        self.hand_on(line.as_bytes());
    }

    fn hand_on(&mut self, text: &[u8]) {
        let Some(client) = &mut self.client else { return };
        if client.waiting.len() + text.len() > MOST_WAITING {
            eprintln!("The network takes nothing any more; waiting for another connection.");
            self.client = None;
            return;
        }
        client.waiting.extend(text);
    }

    /// Takes bytes of the client, and returns the complete commands that only ask. Others are not handed on.
    fn asked(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut commands = Vec::new();
        let Some(client) = &mut self.client else {
            return commands;
        };
        for byte in bytes {
            if *byte != b'\n' {
                client.line.push(*byte);
                if client.line.len() > MOST_LINE {
                    eprintln!("What came from the network is no command; the connection is closed.");
                    self.client = None;
                    break;
                }
                continue;
            }
            let line = std::mem::take(&mut client.line);
            match command(&line, self.protocol) {
                Some(command) => commands.push(command),
                None => eprintln!("Not handed on: {}", shown(&line)),
            }
        }
        commands
    }
}

impl Client {
    fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        let (read, write) = stream.into_split();
        let mut head = String::new();
        let _ = write_header(&mut head, &Header::default());
        Ok(Self {
            read,
            write,
            waiting: head.into_bytes().into(),
            line: Vec::new(),
        })
    }
}

/// The bytes of a line such as `> 42`, if they are one of the commands that cannot harm a board.
fn command(line: &[u8], protocol: Protocol) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?.trim().strip_prefix('>')?.trim();
    let byte = |byte: &str| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2);
    let bytes: Option<Vec<u8>> = text.split(' ').map(byte).collect();
    bytes.filter(|bytes| protocol.may_be_said(bytes))
}

fn shown(line: &[u8]) -> String {
    let mut text = String::new();
    for byte in line.iter().take(60) {
        let _ = write!(text, "{}", byte.escape_ascii());
    }
    text
}

async fn read_some(stream: Option<&mut OwnedReadHalf>, buffer: &mut [u8]) -> std::io::Result<usize> {
    match stream {
        Some(stream) => stream.read(buffer).await,
        None => std::future::pending().await,
    }
}

async fn write_some(stream: Option<&mut OwnedWriteHalf>, bytes: &[u8]) -> std::io::Result<usize> {
    match stream {
        Some(stream) => stream.write(bytes).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::{Protocol, command};

    #[test]
    fn only_what_asks_is_handed_on() {
        let dgt = |line: &str| command(line.as_bytes(), Protocol::Dgt);
        assert_eq!(dgt("> 42"), Some(vec![0x42]));
        assert_eq!(dgt(">4d\r"), Some(vec![0x4d]));
        for line in [
            "",
            "42",
            "> 4",
            "> 042",
            "> 42 42",
            "> 2b 03 03 01 00",
            "> ff",
            "> 71",
            "! down",
        ] {
            assert_eq!(dgt(line), None, "{line}");
        }
        let chessnut = |line: &str| command(line.as_bytes(), Protocol::Chessnut);
        assert_eq!(chessnut("> 21 01 00"), Some(vec![0x21, 1, 0]));
        assert_eq!(
            (chessnut("> 21 01 01"), chessnut("> 42")),
            (None, None),
            "another mode, another board"
        );
        assert_eq!(
            command(b"> d6 b5 b6", Protocol::Occ1),
            None,
            "it is never said anything"
        );
    }
}
