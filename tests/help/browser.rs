//! A real browser for tests: Chromium from the distribution, driven by the WebDriver protocol.

use std::{
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{broker::free_port, page::http};

/// Notes whether the next click is one on this element: the page may move it away from under the pointer.
const WATCH: &str = "const [element] = arguments;
    window.isClicked = false;
    addEventListener('click', (event) => { window.isClicked = element.contains(event.target); }, { capture: true, once: true })";
/// Whether it was. A new page knows nothing of a click.
const WAS_CLICKED: &str = "return window.isClicked !== false";

/// How long the page may take for what is expected of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a program can be started.
pub fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The accessibility checker, where it was installed.
pub fn checker() -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/node_modules/axe-core/axe.min.js");
    let text = std::fs::read_to_string(&file).ok();
    if text.is_none() {
        skipped!("no axe-core (npm install --prefix target/tools axe-core)");
    }
    text
}

/// A browser with one page; gone with the value.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// None, with a message, where no browser is installed. `options` are those of Chromium's driver.
    pub fn start(options: &Value) -> Option<Self> {
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|program| is_there(program));
        let Some(program) = program.filter(|_| is_there("chromedriver")) else {
            skipped!(
                "chromium and chromedriver are not installed (apt-get install chromium chromium-driver)"
            );
            return None;
        };
        let port = free_port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
        };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "chromedriver does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        let path = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output()
            .unwrap();
        let mut chrome = json!({
            "binary": String::from_utf8(path.stdout).unwrap().trim(),
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en"],
        });
        for (key, value) in options.as_object().into_iter().flatten() {
            chrome[key] = value.clone();
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": chrome, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        // On a busy machine a browser may not come up, and its driver answers with nothing.
        let deadline = Instant::now() + PATIENCE;
        let session = loop {
            let answer = http(browser.port, "POST", "/session", "", &wanted).1;
            let session = serde_json::from_str::<Value>(&answer).map(|mut answer| answer["value"].take());
            if let Ok(session) = session
                && session["sessionId"].is_string()
            {
                break session;
            }
            assert!(Instant::now() < deadline, "no browser: {answer}");
            std::thread::sleep(Duration::from_millis(200));
        };
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Opens an address.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Loads the page again.
    pub fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// Runs a script in the page.
    pub fn run(&self, script: &str) -> Value {
        self.try_run(script, &[])
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    fn try_run(&self, script: &str, arguments: &[&Value]) -> Result<Value, Value> {
        let path = format!("/session/{}/execute/sync", self.session);
        self.try_call("POST", &path, &json!({ "script": script, "args": arguments }))
    }

    /// Waits until a script gives something that is true.
    pub fn until(&self, what: &str, script: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A driver that has no time for an answer is asked again: nothing is changed by a look.
            let value = self.try_run(script, &[]);
            if let Ok(value) = &value
                && ![Value::Null, false.into(), "".into(), 0.into()].contains(value)
            {
                return value.clone();
            }
            assert!(
                Instant::now() < deadline,
                "in vain: {what}: {value:?}; the page says: {}; its console: {:?}",
                self.run("return document.body.innerText"),
                self.complaints()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Clicks an element as a person does: as soon as it is there, visible and not covered. The page may draw it anew
    /// between a look and a click, or move it: then it is clicked again.
    pub fn click(&self, selector: &str) {
        let deadline = Instant::now() + PATIENCE;
        while let Some(obstacle) = self
            .try_click(selector)
            .unwrap_or_else(|error| Some(error["message"].to_string()))
        {
            assert!(
                Instant::now() < deadline,
                "{selector} cannot be clicked: {obstacle}; the page says: {}; its console: {:?}",
                self.run("return document.body.innerText"),
                self.complaints()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What came between, if anything did.
    fn try_click(&self, selector: &str) -> Result<Option<String>, Value> {
        let session = format!("/session/{}/element", self.session);
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = self.try_call("POST", &session, &wanted)?;
        self.try_run(WATCH, &[&found])?;
        let id = found.as_object().and_then(|found| found.values().next());
        let id = id.and_then(Value::as_str).expect("an element");
        self.try_call("POST", &format!("{session}/{id}/click"), &json!({}))?;
        let missed = self
            .try_run(WAS_CLICKED, &[])
            .is_ok_and(|clicked| clicked == false);
        Ok(missed.then(|| "something else was clicked, or it is disabled".to_owned()))
    }

    pub fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", &json!({ "width": width, "height": height }));
    }

    /// Errors in the console: a broken policy or script shows here.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let severe = log
            .as_array()
            .into_iter()
            .flatten()
            .filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].to_string()).collect()
    }

    /// What `checker` finds that is serious for somebody who does not see or hear, or uses no mouse.
    pub fn barriers(&self, checker: &str) -> Vec<Value> {
        self.run(&format!("{checker}; return true"));
        let found = self.run("return axe.run(document).then((found) => found.violations.map((one) => [one.impact, one.id, one.nodes.map((node) => node.html.slice(0, 120))]))");
        let is_serious =
            |one: &&Value| ["serious", "critical"].contains(&one[0].as_str().unwrap_or_default());
        found
            .as_array()
            .unwrap()
            .iter()
            .filter(is_serious)
            .cloned()
            .collect()
    }

    /// A picture of what is seen.
    pub fn picture(&self, path: &Path) {
        let picture = self.call(
            "GET",
            &format!("/session/{}/screenshot", self.session),
            &Value::Null,
        );
        std::fs::write(path, base64(picture.as_str().unwrap())).unwrap();
    }

    /// How many sheets of A4 the page takes in print.
    pub fn sheets(&self) -> usize {
        let paper = json!({ "page": { "width": 21.0, "height": 29.7 }, "background": true });
        let printed = base64(self.post("/print", &paper).as_str().unwrap());
        if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
            std::fs::write(Path::new(&folder).join("report.pdf"), &printed).unwrap();
        }
        let text = String::from_utf8_lossy(&printed).into_owned();
        text.matches("/Type /Page\n").count()
    }

    /// Presses a key, wherever the focus is.
    pub fn press(&self, key: &str) {
        let actions = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
        );
    }

    /// Types a text where the focus is.
    pub fn types(&self, text: &str) {
        for key in text.chars() {
            self.press(&key.to_string());
        }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_call(method, path, body)
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let answer = http(self.port, method, path, "", body).1;
        let Ok(mut answer) = serde_json::from_str::<Value>(&answer) else {
            return Err(json!({ "message": format!("{path}: the driver answers {answer:?}") }));
        };
        let value = answer["value"].take();
        if value["error"].is_null() {
            Ok(value)
        } else {
            Err(value)
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // Else the browser outlives its driver.
            let _ = http(
                self.port,
                "DELETE",
                &format!("/session/{}", self.session),
                "",
                &Value::Null,
            );
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for letter in text.bytes() {
        let Some(value) = LETTERS.iter().position(|known| *known == letter) else {
            continue;
        };
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
