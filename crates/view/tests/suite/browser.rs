//! Controls a headless Chromium over its DevTools protocol.

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// Default paths of Chromium; the environment variable `CHROMIUM` overrides these paths.
const PLACES: [&str; 4] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/snap/bin/chromium"];
const PATIENCE: Duration = Duration::from_secs(30);

/// A headless Chromium that shows one page.
pub(crate) struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    calls: u64,
    /// Errors of the page: exceptions, errors on its console, failed requests.
    pub(crate) errors: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser. Without Chromium, prints a line and returns `None`.
    pub(crate) fn start() -> Option<Self> {
        let own = std::env::var("CHROMIUM").ok();
        let found =
            own.or_else(|| PLACES.iter().find(|place| Path::new(place).is_file()).map(|&place| place.into()));
        let Some(program) = found else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED pages in a browser: no Chromium in {PLACES:?}; set CHROMIUM to its path"
            );
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let process = Command::new(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                "--no-first-run",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let notice = profile.path().join("DevToolsActivePort");
        let address = wait(|| {
            let text = fs::read_to_string(&notice).ok()?;
            let (port, path) = text.split_once('\n')?;
            Some((port.parse::<u16>().ok()?, path.trim().to_owned()))
        });
        let (port, path) = address.expect("Chromium tells its port");
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("Chromium listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (socket, _) =
            tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream).expect("a DevTools session");
        let (session, calls, errors) = (None, 0, Vec::new());
        let mut browser = Self { process, socket, session, calls, errors, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime", "Log", "Page", "Performance"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command of the DevTools protocol and returns the command's result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a command and returns its result or Chromium's error.
    /// A page from which the browser is navigating away does not answer.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).expect("Chromium reads");
        loop {
            let message = self.socket.read().expect("Chromium answers");
            let Ok(text) = message.to_text() else { continue };
            let Ok(answer) = serde_json::from_str::<Value>(text) else { continue };
            self.note(&answer);
            if answer["id"] == json!(self.calls) {
                return match answer.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(answer["result"].clone()),
                };
            }
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.errors.push(params["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => {
                self.errors.push(params.to_string())
            }
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.errors.push(params["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Returns the value of a JavaScript expression; waits for a promise.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.eval(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Opens a page, `width` pixels wide, and waits until its first drawing is complete.
    pub(crate) fn open(&mut self, url: &str, width: u32) -> Duration {
        let begin = self.navigate(url, width);
        self.until(
            "location.href !== 'about:blank' && document.body && document.body.dataset.ready === 'true'",
        );
        begin.elapsed()
    }

    /// Navigates to a page; returns the start time of the navigation.
    pub(crate) fn navigate(&mut self, url: &str, width: u32) -> Instant {
        let metrics = json!({ "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        // Chromium would not reload a page whose address differs only after the #.
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        let begin = Instant::now();
        self.call("Page.navigate", &json!({ "url": url }));
        begin
    }

    /// Waits until a JavaScript expression becomes true in the page.
    pub(crate) fn until(&mut self, expression: &str) {
        let params = json!({ "expression": format!("Boolean({expression})"), "returnByValue": true });
        let met = wait(|| {
            let answer = self.ask("Runtime.evaluate", &params).ok()?;
            answer["result"]["value"].as_bool().filter(|met| *met)
        });
        assert!(met.is_some(), "never: {expression}; errors {:?}", self.errors);
    }

    /// Emulates light or dark mode, on a screen or on paper.
    pub(crate) fn emulate(&mut self, scheme: &str, medium: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": medium, "features": features }));
    }

    /// Saves a screenshot of the whole page in the folder `PICTURES`, for people to check.
    /// Does nothing if the environment variable is not set.
    pub(crate) fn picture(&mut self, name: &str) {
        let Ok(folder) = std::env::var("PICTURES") else { return };
        let params = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", &params);
        let path = Path::new(&folder).join(format!("{name}.base64"));
        fs::write(path, answer["data"].as_str().unwrap_or_default()).expect("writable");
    }

    /// Moves the mouse to a position in the window, with the left button pressed or not.
    pub(crate) fn mouse(&mut self, kind: &str, (x, y): (f64, f64), pressed: bool) {
        let buttons = u8::from(pressed);
        let button = if pressed || kind == "mouseReleased" { "left" } else { "none" };
        let params =
            json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", &params);
    }

    /// Drags the mouse with the left button from one position to another.
    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from, false);
        self.mouse("mousePressed", from, true);
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        self.mouse("mouseMoved", middle, true);
        self.mouse("mouseMoved", to, true);
        self.mouse("mouseReleased", to, false);
    }

    /// The position in the window of the first element that matches a selector:
    /// left, top, width, height.
    pub(crate) fn place(&mut self, selector: &str) -> [f64; 4] {
        let quoted = serde_json::to_string(selector).expect("JSON");
        let place = self.eval(&format!(
            "(() => {{ const one = document.querySelector({quoted}); one.scrollIntoView({{ block: 'center' }}); \
             const box = one.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; }})()"
        ));
        std::array::from_fn(|at| place[at].as_f64().unwrap_or(f64::NAN))
    }

    /// Size of the page's JavaScript heap after a garbage collection (bytes).
    pub(crate) fn heap_bytes(&mut self) -> u64 {
        self.call("HeapProfiler.collectGarbage", &json!({}));
        let usage = self.call("Runtime.getHeapUsage", &json!({}));
        usage["usedSize"].as_f64().unwrap_or(f64::MAX) as u64
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Calls `ask` until it returns a value, up to a time limit.
fn wait<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        sleep(Duration::from_millis(20));
    }
    None
}
