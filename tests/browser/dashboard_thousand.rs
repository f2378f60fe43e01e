//! A thousand boards of eighty gateways on one page: what it costs.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    broker::{Mosquitto, free_port},
    browser::Browser,
    page::Server,
    thousand::{BOARDS, Hall, key},
};

/// Half-moves a second of a thousand boards: of a classical round, of one in which all are short of time, and more than
/// is ever played.
const RATES: [usize; 3] = [15, 50, 150];
/// How many other pages are open.
const TABLETS: usize = 4;
/// Linux counts the time of a process in hundredths of a second.
const TICKS: f64 = 100.0;

/// What the page costs with a thousand boards. Prints the figures of docs/benchmarks.md.
#[test]
#[ignore = "takes some minutes; its figures are in docs/benchmarks.md"]
fn a_thousand_boards() {
    let Some(mut scene) = Scene::start(40) else { return };
    for rate in RATES {
        let (seen, cores) = scene.play(Duration::from_secs(40), rate);
        assert!(
            seen.late(0.95) <= 200.0,
            "at {rate} a second: {}",
            seen.late(0.95)
        );
        assert!(cores <= 1.0, "at {rate} a second: {cores} cores");
    }
    let alarms = scene.alarms(20);
    assert!(
        alarms.late(0.95) <= 200.0,
        "irregularities: {}",
        alarms.late(0.95)
    );
    let painted = scene.reload();
    assert!(painted <= 2_000.0, "the first paint came after {painted} ms");
    scene.all_come_back();
    let (heap, memory) = (scene.heap(), scene.memory());
    println!("heap of the page {heap:.1} MiB; server at most {memory:.0} MB");
    assert!(heap <= 100.0, "{heap} MiB");
    assert!(memory <= 300.0, "{memory} MB");
}

/// The same for some seconds, on a machine that may have other things to do.
#[test]
fn a_thousand_boards_for_some_seconds() {
    let Some(mut scene) = Scene::start(0) else { return };
    let (seen, _) = scene.play(Duration::from_secs(5), 30);
    // How fast it is on a quiet machine is asked above; here nothing may pile up.
    assert!(seen.late(0.5) < 5_000.0, "{}", seen.late(0.5));
    let alarms = scene.alarms(2);
    assert!(alarms.late(0.5) < 5_000.0, "{}", alarms.late(0.5));
    let painted = scene.reload();
    assert!(painted < 20_000.0, "{painted}");
    let (heap, memory) = (scene.heap(), scene.memory());
    assert!(heap <= 100.0, "{heap} MiB");
    assert!(memory <= 300.0, "{memory} MB");
}

/// How late something was seen, in milliseconds, the earliest first.
struct Seen(Vec<f64>);

impl Seen {
    fn late(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }

    fn print(&self, what: &str) {
        let [median, most, longest] = [0.5, 0.95, 1.0].map(|share| self.late(share));
        println!(
            "{what}: {} seen; ms to the screen: median {median}, 95 % {most}, longest {longest}",
            self.0.len()
        );
    }
}

/// Another page: it reads what the server sends, and counts.
struct Tablet {
    stream: TcpStream,
    bytes: Arc<AtomicUsize>,
    /// The size of the first message, which is the whole hall.
    first: Arc<AtomicUsize>,
    reader: Option<JoinHandle<()>>,
}

impl Tablet {
    fn open(port: u16) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        )
        .unwrap();
        let (bytes, first) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (read, counted, hall) = (stream.try_clone().unwrap(), bytes.clone(), first.clone());
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(read).split(b'\n').map_while(Result::ok) {
                counted.fetch_add(line.len() + 1, Ordering::Relaxed);
                if line.starts_with(b"data: {\"boards\"") && hall.load(Ordering::Relaxed) == 0 {
                    hall.store(line.len(), Ordering::Relaxed);
                }
            }
        });
        Self {
            stream,
            bytes,
            first,
            reader: Some(reader),
        }
    }
}

impl Drop for Tablet {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// The boards as they are seen: those in the window.
const IN_WINDOW: &str = "const inWindow = [...document.querySelectorAll('.card')].filter((card) => {
    const box = card.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; });";

/// A hall on a broker of its own, with its server, its page in the browser, and other pages.
pub struct Scene {
    pub browser: Browser,
    tablets: Vec<Tablet>,
    pub hall: Hall,
    pub server: Server,
    _broker: Mosquitto,
    _folder: TempDir,
}

impl Scene {
    /// `played` half-moves have been played at each board.
    pub fn start(played: usize) -> Option<Self> {
        let browser = Browser::start(
            &json!({ "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc", "--enable-precise-memory-info"] }),
        )?;
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "");
        let server = Server::start(broker.port, free_port(), &[]);
        let hall = Hall::tell(broker.port, played);
        browser.resize(1600, 1200);
        browser.open(&server.url(""));
        browser.until(
            "all boards with all their states",
            &format!(
                "const cards = [...document.querySelectorAll('.card')];
                 return cards.length === {BOARDS} && !document.querySelector('.card.away')
                   && cards.every((card) => /^Schwarz/.test(card.querySelector('.black .name').textContent) && card.querySelector('.move').textContent)"
            ),
        );
        let tablets = (0..TABLETS).map(|_| Tablet::open(server.port)).collect();
        Some(Self {
            browser,
            tablets,
            hall,
            server,
            _broker: broker,
            _folder: folder,
        })
    }

    /// Has the page note when a time of ours that comes after `words` is on the screen: at the frame after the change.
    fn watch(&self, words: &str) {
        self.browser.run(&format!(
            "window.seen = []; window.watcher?.disconnect(); window.watcher = new MutationObserver((changes) => requestAnimationFrame(() => {{ const now = Date.now();
               for (const {{ target }} of changes) {{ const stamp = !target.matches?.('.grid') && /{words}x(\\d+)x/.exec(target.textContent); if (stamp) window.seen.push(now - Number(stamp[1])); }} }}));
             window.watcher.observe(document.querySelector('.grid'), {{ subtree: true, childList: true, characterData: true }})"
        ));
    }

    fn seen(&self) -> Seen {
        let last = &self.hall.last;
        self.browser.until("what came last", &format!(
            "return [...document.querySelectorAll('.card')].some((card) => card.textContent.includes('{last}'))"
        ));
        std::thread::sleep(Duration::from_secs(1));
        let seen = self.browser.run("return window.seen");
        let mut seen: Vec<f64> = seen
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_f64)
            .collect();
        assert!(!seen.is_empty());
        seen.sort_by(f64::total_cmp);
        Seen(seen)
    }

    /// Plays for some time. How late the half-moves were seen, and how many processors the server had.
    fn play(&mut self, time: Duration, rate: usize) -> (Seen, f64) {
        self.watch("");
        let (start, ticks, bytes) = (Instant::now(), self.ticks(), self.bytes());
        self.hall.play_for(time, rate);
        let seconds = start.elapsed().as_secs_f64();
        let cores = (self.ticks() - ticks) / TICKS / seconds;
        let sent = (self.bytes() - bytes) as f64 / 1e3 / seconds / TABLETS as f64;
        let seen = self.seen();
        seen.print(&format!(
            "{rate} half-moves a second and {BOARDS} clocks, {} pages",
            TABLETS + 1
        ));
        println!(
            "  server: {:.0} % of a core; {sent:.0} kB/s to a page; the whole hall {:.0} kB",
            cores * 100.0,
            self.tablets[0].first.load(Ordering::Relaxed) as f64 / 1e3
        );
        let made = (time.as_secs_f64() * rate as f64) as usize;
        assert!(seen.0.len() * 3 >= made.min(BOARDS), "{} of {made}", seen.0.len());
        (seen, cores)
    }

    /// Irregularities at boards far down, one after the other, beside play: each must come first on the page.
    fn alarms(&mut self, count: usize) -> Seen {
        self.watch("Illegal move ");
        for i in 1..=count {
            let number = BOARDS - 31 * i;
            self.hall.case(number);
            let (last, href) = (self.hall.last.clone(), format!("#/board/{}", key(number)));
            self.browser.until(
                "it is seen",
                &format!(
                    "const card = document.querySelector('.card');
                     return card.hash === '{href}' && card.textContent.includes('{last}') && card.querySelector('use')"
                ),
            );
            self.hall.play_for(Duration::from_millis(500), 20);
            if i < count {
                self.hall.resolve(number);
            }
        }
        let seen = self.seen();
        assert!(seen.0.len() >= count, "{} of {count}", seen.0.len());
        seen.print("irregularities among half-moves");
        seen
    }

    /// Loads the page anew while boards play. After how many milliseconds all that is visible is on the screen.
    fn reload(&mut self) -> f64 {
        self.hall.play_for(Duration::from_millis(300), 50);
        self.browser.reload();
        let painted = self.browser.until("all that is visible", &format!(
            "{IN_WINDOW} const whole = (card) => card.querySelector('use') && card.querySelector('.clock').textContent;
             return document.getElementById('tally').textContent.includes('{BOARDS}') && inWindow.length > 8 && inWindow.every(whole)
               && new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
        ));
        println!("reload: all that is visible is painted after {painted} ms");
        painted.as_f64().unwrap()
    }

    /// All gateways go, come back and tell everything again. How long until the page has it.
    fn all_come_back(&mut self) {
        self.hall.go_offline();
        self.browser.until(
            "all are away",
            &format!("return document.querySelectorAll('.card.away').length === {BOARDS}"),
        );
        let start = Instant::now();
        self.hall.come_online();
        for number in 1..=BOARDS {
            self.hall.tell_states(number);
        }
        self.hall.half_move(1);
        let last = self.hall.last.clone();
        self.browser.until("all are back", &format!(
            "return !document.querySelector('.card.away') && [...document.querySelectorAll('.card')].some((card) => card.textContent.includes('{last}'))"
        ));
        println!(
            "{BOARDS} boards come back: all is shown after {} ms",
            start.elapsed().as_millis()
        );
    }

    fn heap(&self) -> f64 {
        let heap = self
            .browser
            .run("gc(); return performance.memory.usedJSHeapSize / 1048576");
        heap.as_f64().unwrap()
    }

    fn bytes(&self) -> usize {
        self.tablets
            .iter()
            .map(|tablet| tablet.bytes.load(Ordering::Relaxed))
            .sum()
    }

    /// The time that the server has had of the processors.
    fn ticks(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.server.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11..13]
            .iter()
            .map(|field| field.parse::<f64>().unwrap())
            .sum()
    }

    /// The server's resident memory at its most, in megabytes.
    fn memory(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.child.id())).unwrap();
        let most = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let kilobytes: f64 = most.trim().trim_end_matches(" kB").parse().unwrap();
        kilobytes * 1_024.0 / 1e6
    }
}
