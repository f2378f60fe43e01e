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

use crate::{
    capture::{Act, Header, Record as Line, stream::NOW, write_header, write_record},
    dgt,
    link::{Backoff, Opened, Source},
    time::Millis,
};

/// How often it is said that nothing was heard.
const TICK: Duration = Duration::from_millis(200);
/// Bytes that may wait for a network that takes none: some minutes of a board.
const MOST_WAITING: usize = 1 << 20;
/// Bytes of a line with a command.
const MOST_LINE: usize = 256;

/// Hand a board on over the network, with the times at which its bytes were read, until Ctrl-C.
///
/// The daemon takes it as the port tcp+cap://HOST:PORT. Whoever reaches the address can read the board, and ask it what the
/// daemon asks: let only the daemon's machine do so.
#[derive(Debug, Args)]
pub(super) struct Forward {
    /// The port: /dev/serial/by-id/..., usb:SERIAL, board:SERIAL, board:SERIAL@PORT
    #[arg(long, short)]
    port: Source,
    /// Where the daemon is waited for: 0.0.0.0:2000
    #[arg(long, short, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
}

impl Forward {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(self.listen).await;
            let listener = listener.with_context(|| format!("cannot listen at {}", self.listen))?;
            eprintln!("Listening at {}; Ctrl-C ends.", listener.local_addr()?);
            let mut forwarder = Forwarder {
                listener,
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
    origin: Instant,
    /// The newest who came: one that was here before has lost its connection.
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
        // A day has 86 million milliseconds.
        Millis(self.origin.elapsed().as_millis() as u64)
    }

    async fn forward(&mut self, source: &Source) -> anyhow::Result<()> {
        let (mut backoff, mut rng) = (Backoff::new(250, 5000, 10_000), Rng::new());
        let mut said = String::new();
        loop {
            match source.open().await {
                Ok(mut opened) => {
                    eprintln!("Forwarding {}.", opened.name);
                    said.clear();
                    backoff.up(self.now());
                    self.follow(&mut opened).await?;
                    drop(opened); // before it can be found again
                    // Who listens begins anew, as after a cable that was out.
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

    /// Until the board is gone.
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
                        for byte in self.asked(&asked[..n]) {
                            if board.io.write_all(&[byte]).await.is_err() {
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
        // A String takes everything.
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

    /// The commands that are complete: those of one byte that only ask. Others are not handed on.
    fn asked(&mut self, bytes: &[u8]) -> Vec<u8> {
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
            match command(&line) {
                Some(code) => commands.push(code),
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

/// The byte of `> 42`, if it is one of the commands that cannot harm a board.
fn command(line: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(line).ok()?.trim().strip_prefix('>')?.trim();
    let code = u8::from_str_radix(text, 16).ok().filter(|_| text.len() == 2)?;
    dgt::Command::from_code(code).map(|_| code)
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
    use super::command;

    #[test]
    fn only_what_asks_is_handed_on() {
        assert_eq!(command(b"> 42"), Some(0x42));
        assert_eq!(command(b">4d\r"), Some(0x4d));
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
            assert_eq!(command(line.as_bytes()), None, "{line}");
        }
    }
}
