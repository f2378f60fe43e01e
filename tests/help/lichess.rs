//! A server that answers as lichess does, over TLS where that is wanted.
#![allow(dead_code)] // shared by several test programs.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// Two games: one is taken, one is not.
pub const GOOD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    2b\r\n{\"games\":[{\"tags\":{},\"moves\":1},{\"tags\":{},\r\n14\r\n\"error\":\"illegal\"}]}\r\n0\r\n\r\n";

/// A request as it came: its first line and headers, its body, and when.
pub struct Got {
    pub head: Vec<String>,
    pub body: String,
    pub at: Instant,
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// Answers each connection with the next of `answers`, the last one from then on; an empty one hangs up.
pub fn server(answers: Vec<&'static str>, tls: Option<Arc<ServerConfig>>) -> (u16, mpsc::Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, got) = mpsc::channel();
    thread::spawn(move || {
        let mut answered = 0;
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let stream: Box<dyn Stream> = match &tls {
                None => Box::new(stream),
                Some(tls) => Box::new(StreamOwned::new(
                    ServerConnection::new(tls.clone()).unwrap(),
                    stream,
                )),
            };
            let mut stream = BufReader::new(stream);
            // Whoever does not like our certificate says nothing more.
            let Some((head, body)) = read(&mut stream) else {
                continue;
            };
            let answer = answers[answered.min(answers.len() - 1)];
            answered += 1;
            // Whoever waits after the answer does so from a later time on.
            let at = Instant::now();
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            stream.get_mut().flush().unwrap();
            if sender.send(Got { head, body, at }).is_err() {
                return;
            }
        }
    });
    (port, got)
}

/// What came to a server that counts.
#[derive(Default)]
pub struct Counted {
    /// The pushes that it took: the first line of each, and its games.
    pub taken: Vec<(String, String)>,
    /// How many it refused, because the one before it with the same token was less than a second ago.
    pub refused: usize,
}

impl Counted {
    /// The games that were taken for a round, in the order of the pushes.
    pub fn of<'a>(&'a self, round: &str) -> impl DoubleEndedIterator<Item = &'a str> {
        let path = format!("/round/{}/push ", round.to_lowercase());
        let taken = self.taken.iter().filter(move |(line, _)| line.contains(&path));
        taken.map(|(_, games)| games.as_str())
    }
}

/// A server that takes one push a second of each token.
pub fn counting_server() -> (u16, Arc<Mutex<Counted>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let counted = Arc::new(Mutex::new(Counted::default()));
    let counts = counted.clone();
    thread::spawn(move || {
        let mut last: HashMap<String, Instant> = HashMap::new();
        for stream in listener.incoming() {
            let stream: Box<dyn Stream> = Box::new(stream.unwrap());
            let mut stream = BufReader::new(stream);
            let Some((head, games)) = read(&mut stream) else {
                continue;
            };
            let is_token = |line: &&String| line.starts_with("authorization: ");
            let token = head.iter().find(is_token).unwrap().clone();
            let before = last.insert(token, Instant::now());
            let mut counts = counts.lock().unwrap();
            let (status, answer) = match before {
                Some(before) if before.elapsed() < Duration::from_secs(1) => {
                    counts.refused += 1;
                    ("429 Too Many Requests", String::new())
                }
                _ => {
                    let count = games.matches("[White ").count();
                    counts.taken.push((head[0].clone(), games));
                    let each = vec![r#"{"tags":{},"moves":1}"#; count];
                    ("200 OK", format!(r#"{{"games":[{}]}}"#, each.join(",")))
                }
            };
            let length = answer.len();
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{answer}");
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    (port, counted)
}

fn read(stream: &mut BufReader<Box<dyn Stream>>) -> Option<(Vec<String>, String)> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_lowercase());
    }
    let length = head
        .iter()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

pub fn secured(folder: &Path, certificate: &str) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(folder.join(format!("{certificate}.pem")))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_file(folder.join(format!("{certificate}.key"))).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    Arc::new(config)
}
