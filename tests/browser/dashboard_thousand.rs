//! A thousand boards of eighty gateways on one page: what it costs, and how one finds a board.

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
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::until,
    page::{Server, http},
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
struct Scene {
    browser: Browser,
    tablets: Vec<Tablet>,
    hall: Hall,
    server: Server,
    _broker: Mosquitto,
    _folder: TempDir,
}

impl Scene {
    /// `played` half-moves have been played at each board.
    fn start(played: usize) -> Option<Self> {
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

/// The numbers of the boards that are listed, in their order.
const LISTED: &str =
    "return [...document.querySelectorAll('.card')].map((card) => Number(card.hash.split('/').pop()))";

/// Types a text into the search, in place of what stood there.
fn search(browser: &Browser, text: &str) -> Value {
    browser.run(&format!(
        "const search = document.querySelector('.filters input'); search.value = {}; search.dispatchEvent(new Event('input'))",
        json!(text)
    ));
    browser.run(LISTED)
}

#[test]
fn a_board_is_found_by_number_player_gateway_and_state() {
    let Some(mut scene) = Scene::start(0) else { return };
    for number in [170, 900] {
        scene.hall.case(number);
    }
    scene.hall.end(400);
    scene.hall.lose(500);
    let (browser, server) = (&scene.browser, &scene.server);
    browser.until(
        "all of it",
        "return document.querySelectorAll('.card.alert').length === 2 && document.querySelector('.card.away')
        && [...document.querySelectorAll('.card .state')].some((state) => state.textContent === '1/2-1/2')",
    );
    // Those with an irregularity come first, then all by their numbers.
    let listed = browser.run(LISTED);
    let rest: Vec<usize> = (1..=BOARDS)
        .filter(|number| ![170, 900].contains(number))
        .collect();
    let expected: Vec<usize> = [170, 900].into_iter().chain(rest).collect();
    assert_eq!(listed, json!(expected));

    // The board with the number itself comes first, then those with an irregularity.
    let listed = search(browser, "17");
    let listed: Vec<u64> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    assert_eq!(
        listed[..12],
        [17, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 117],
        "{listed:?}"
    );
    for (text, expected) in [
        ("hall14/170", json!([170])),
        ("Anna 0733", json!([733])),
        ("weiss 0733", json!([])),
        ("Weiß, anna 0733", json!([733])),
        ("open irregularity", json!([170, 900])),
        ("нарушение", json!([170, 900])),
        ("illegal", json!([170, 900])),
        ("finished", json!([400])),
        ("закончена", json!([400])),
        ("offline", json!([500])),
        ("нет связи", json!([500])),
        ("hall40 away", json!([500])),
        ("board 900", json!([900])),
        ("900 playing", json!([900])),
        ("400 playing", json!([])),
    ] {
        assert_eq!(search(browser, text), expected, "{text}");
    }
    assert_eq!(
        browser.run("return document.querySelector('.count').textContent"),
        "Boards found: 0"
    );
    assert_eq!(search(browser, "hall02").as_array().unwrap().len(), 12);
    assert_eq!(search(browser, "playing").as_array().unwrap().len(), BOARDS - 1);
    // A thousand are more than the checker looks through.
    search(browser, "hall02");
    if let Some(axe) = checker() {
        let serious = browser.barriers(&axe);
        assert!(serious.is_empty(), "{serious:#?}");
    }
    // With the button of a state.
    browser.click("[data-filter=away]");
    assert_eq!(search(browser, ""), json!([500]));
    browser.click("[data-filter=all]");

    // By keys alone, from another page.
    browser.press("h");
    browser.until("the history", "return document.querySelector('.history h1')");
    browser.press("/");
    browser.until(
        "the search",
        "return document.activeElement.matches('.filters input')",
    );
    browser.types("733");
    browser.press("\u{e007}");
    browser.until(
        "the board",
        &format!(
            "return location.hash === '#/board/{}' && document.querySelector('.detail h1, .title')",
            key(733)
        ),
    );
    browser.press("n");
    browser.until(
        "an irregularity",
        &format!("return location.hash === '#/board/{}'", key(170)),
    );
    browser.press("n");
    browser.until(
        "the next",
        &format!("return location.hash === '#/board/{}'", key(900)),
    );
    browser.open(&server.url("#/"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// mosquitto keeps a thousand messages for a client as it is installed, and drops what is more; the hall has six thousand.
#[test]
fn a_server_that_starts_late_hears_of_all_boards() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start_as_installed(folder.path());
    let mut hall = Hall::tell(broker.port, 0);
    hall.half_move(BOARDS);
    let start = |port| Server::start(broker.port, port, &[]);
    // What was published last is retained by now.
    let watcher = start(free_port());
    let board = |server: &Server, number| {
        let (_, body) = http(
            server.port,
            "GET",
            &format!("/api/board/{}", key(number)),
            "",
            &Value::Null,
        );
        serde_json::from_str::<Value>(&body).unwrap_or_default()
    };
    let missing = |server: &Server, number| -> Vec<&str> {
        let board = board(server, number);
        let fields = ["placement", "game", "clock", "serial", "players"];
        let is_missing = |field: &&str| board[*field].is_null() || board[*field] == json!([null, null]);
        fields.into_iter().filter(is_missing).collect()
    };
    until("all is retained", PATIENCE, || {
        (board(&watcher, BOARDS)["plies"] == 1).then_some(())
    });
    let late = start(free_port());
    let begin = Instant::now();
    let deadline = Instant::now() + PATIENCE;
    for number in 1..=BOARDS {
        while !missing(&late, number).is_empty() {
            assert!(
                Instant::now() < deadline,
                "{}: {:?}",
                key(number),
                missing(&late, number)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    println!(
        "a server that starts late knows {BOARDS} boards after {} ms",
        begin.elapsed().as_millis()
    );
}

/// How many diagrams are drawn.
const DRAWN: &str =
    "return [...document.querySelectorAll('.card')].filter((card) => card.querySelector('use')).length";

#[test]
fn only_what_is_near_the_screen_is_drawn_and_all_of_it_is_there() {
    let Some(mut scene) = Scene::start(0) else { return };
    scene.browser.resize(1280, 900);
    let drawn = |browser: &Browser| browser.run(DRAWN).as_u64().unwrap();
    let near = |browser: &Browser, which: &str| {
        browser.until(
            "it is drawn",
            &format!("return [...document.querySelectorAll('.card')].{which}.querySelector('use')"),
        );
        // What went away is cleared, and nothing but what is near is drawn.
        browser.until("nothing else", &format!("return (() => {{ {DRAWN} }})() < 100"));
    };
    near(&scene.browser, "at(0)");
    assert!(drawn(&scene.browser) > 8);
    // Words and places of all are there, for the browser's own search and for whoever does not see.
    let words = scene.browser.run(
        "const cards = [...document.querySelectorAll('.card')]; return cards.every((card) => card.querySelector('.name').textContent
           && card.querySelector('svg.board').getAttribute('aria-label').includes(card.querySelector('h2').textContent))",
    );
    assert_eq!(words, true);

    // The End key, as it were; then up from there by keys.
    scene
        .browser
        .run("const all = document.querySelectorAll('.card'); all[999].focus()");
    near(&scene.browser, "at(-1)");
    assert_eq!(scene.browser.run("return Boolean(document.querySelector('.card use').closest('.card') === document.querySelector('.card'))"), false);
    scene.browser.press("\u{e012}");
    scene.browser.press("\u{e013}");
    let at = "return [...document.querySelectorAll('.card')].indexOf(document.activeElement)";
    let columns = scene.browser.run("const all = [...document.querySelectorAll('.card')]; return all.filter((card) => card.offsetTop === all[0].offsetTop).length");
    assert_eq!(scene.browser.run(at), 998 - columns.as_u64().unwrap());
    let focused = scene.browser.run("return document.activeElement.hash");

    // Clocks run where one looks, and diagrams follow.
    let clocks = "return [...document.querySelectorAll('.card .clock.runs')].map((clock) => clock.textContent).slice(-3)";
    let before = scene.browser.run(clocks);
    scene.browser.until(
        "they run",
        &format!("return JSON.stringify((() => {{ {clocks} }})()) !== JSON.stringify({before})"),
    );
    // Boards change their places and come back, and the focus stays.
    for number in [990, 3] {
        scene.hall.case(number);
        scene.browser.until("it comes first", &format!("return document.querySelector('.card').hash === '#/board/{}' || document.querySelectorAll('.card.alert').length === 2", key(number)));
    }
    for number in [990, 3] {
        scene.hall.resolve(number);
    }
    scene
        .browser
        .until("all is well", "return !document.querySelector('.card.alert')");
    assert_eq!(scene.browser.run("return document.activeElement.hash"), focused);
    assert_eq!(scene.browser.run(LISTED), json!((1..=BOARDS).collect::<Vec<_>>()));

    // Who opens a board from down there comes back to it.
    scene.browser.press("\u{e007}");
    scene
        .browser
        .until("a board", "return document.querySelector('.detail')");
    scene.browser.press("\u{e00c}");
    scene.browser.until(
        "the same card",
        &format!(
            "const card = document.activeElement, box = card.getBoundingClientRect();
             return card.hash === {focused} && box.top > 0 && box.bottom < innerHeight && card.querySelector('use')"
        ),
    );

    // On paper all are drawn.
    scene.browser.run("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(drawn(&scene.browser), BOARDS as u64);
    scene.browser.run("dispatchEvent(new Event('afterprint'))");
    assert!(drawn(&scene.browser) < 100);

    // The wall scrolls where boards would be too small to read, those with an irregularity first.
    scene.hall.case(700);
    scene.browser.open(&scene.server.url("#/wall"));
    scene.browser.until("the wall", &format!("return document.querySelectorAll('.wall .cell').length === {BOARDS} && document.querySelector('.cell').matches('.alert')"));
    let wall = scene.browser.run(
        "const wall = document.querySelector('.wall'), size = parseFloat(getComputedStyle(document.querySelector('.cell .name')).fontSize);
         return [wall.scrollHeight > wall.clientHeight, wall.scrollWidth > wall.clientWidth, size >= 12, document.querySelector('.cell').hash]",
    );
    assert_eq!(wall, json!([true, false, true, format!("#/board/{}", key(700))]));
    scene.hall.half_move(700);
    let last = scene.hall.last.clone();
    scene.browser.until(
        "the half-move",
        &format!("return document.querySelector('.cell').textContent.includes('{last}')"),
    );
    if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
        for (page, name) in [("#/wall", "thousand-wall.png"), ("#/", "thousand.png")] {
            scene.browser.open(&scene.server.url(page));
            std::thread::sleep(Duration::from_secs(2));
            scene.browser.picture(&std::path::Path::new(&folder).join(name));
        }
    }
    assert_eq!(scene.browser.complaints(), Vec::<String>::new());
}
