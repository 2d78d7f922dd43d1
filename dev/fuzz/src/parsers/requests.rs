//! Readers of data from a socket: answers of a Redis server, and requests to local pages.

use super::targets::Desk;
use bufferlab_operator::store::{Store, dumps};
use bufferlab_view::{Page, Play, View};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Byte that separates two answers in the list of answers of a test server.
const NEXT: u8 = 0x1e;
/// Maximum time to wait for an answer of the server of a local page.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const RESP: &[&str] = &[
    "\u{1e}",
    "\r\n",
    "+OK\r\n",
    "-ERR x\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*1\r\n",
    "$5\r\n",
    ":1\r\n",
    "%1\r\n",
    "_\r\n",
    "~2\r\n",
    ">2\r\n",
    ",inf\r\n",
    "(99999999999999999999\r\n",
    "#t\r\n",
    "=3\r\n",
    "$536870912000\r\n",
    "*2147483647\r\n",
];
pub(super) const JSON: &[&str] = &[
    "{",
    "}",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "1e300",
    "-1",
    "\"policy\"",
    "\"sonic-dt\"",
    "\"lqd\"",
    "\"abm\"",
    "\"alpha\"",
    "\\u0000",
    "\"by\":\"queue\"",
    "0.5,0.5",
    "nan",
];
pub(super) const QUERY: &[&str] = &[
    "&",
    "=",
    "?",
    "from=",
    "until=",
    "points=",
    "by=class",
    "port=0",
    "priority=7",
    "row=",
    "time=0",
    "backwards=true",
    "switch=switch",
    "name=",
    "queue=",
    "query=0",
    "%00",
    "%ff",
    "api/window",
    "api/loss",
];

/// Test servers that run until the process ends.
#[derive(Default)]
pub(super) struct Servers {
    redis: Option<Redis>,
    play: Option<Address>,
    view: Option<Address>,
}

struct Redis {
    address: String,
    script: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// Address of the server of a local page: host with port, and the token of the page.
#[derive(Clone)]
struct Address(String, String);

/// Valid answers of a Redis server to the requests of `sonic --redis`, in order.
pub(super) fn answers() -> Vec<Vec<u8>> {
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    let list = |items: &[&str]| {
        format!("*{}\r\n{}", items.len(), items.iter().map(|item| bulk(item)).collect::<String>())
    };
    let scan = |keys: &[&str]| format!("*2\r\n{}{}", bulk("0"), list(keys));
    let script = [
        scan(&["BUFFER_POOL|ingress_lossless_pool", "PORT|Ethernet0", "other"]),
        list(&["type", "ingress", "mode", "dynamic", "size", "4000000"]),
        list(&["speed", "100000"]),
        scan(&["BUFFER_POOL_TABLE:ingress_lossless_pool"]),
        list(&["size", "4000000"]),
        scan(&[]),
    ];
    vec![script.join("\u{1e}").into_bytes()]
}

/// Reads the databases of a test Redis server that sends the answers in `input`. The server closes
/// the connection after the last answer.
pub(super) fn redis(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let script: Vec<_> = input.split(|byte| *byte == NEXT).rev().map(<[u8]>::to_vec).collect();
    let redis = match &mut desk.servers.redis {
        Some(redis) => redis,
        none => none.insert(start_redis()?),
    };
    *redis.script.lock().unwrap_or_else(PoisonError::into_inner) = script;
    dumps(&mut Store::new(&redis.address)).map(drop).map_err(|error| error.message)
}

fn start_redis() -> Result<Redis, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
    let script = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let shared = Arc::clone(&script);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let script = Arc::clone(&shared);
            thread::spawn(move || serve(connection, &script));
        }
    });
    Ok(Redis { address, script })
}

/// Sends the next answer after every request; accepts any first message of a connection.
fn serve(mut connection: TcpStream, script: &Mutex<Vec<Vec<u8>>>) {
    let mut asked = [0; 4096];
    while let Ok(length) = connection.read(&mut asked) {
        if length == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&asked[..length]);
        let granted = text.matches("SELECT").count() + text.matches("SETINFO").count();
        let mut answer = b"+OK\r\n".repeat(granted);
        let is_question = ["SCAN", "HGETALL", "HSET"].iter().any(|word| text.contains(word));
        let next = || script.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let answered = if is_question { next() } else { Some(Vec::new()) };
        answer.extend(answered.iter().flatten());
        if connection.write_all(&answer).is_err() || answered.is_none() {
            return;
        }
    }
}

/// Valid request bodies for the playground: settings that a user selects.
pub(super) fn bodies() -> Vec<Vec<u8>> {
    let body = |policy: &str, alpha: &str| {
        format!(
            "{{\"ports\":4,\"queues\":2,\"rate_gbps\":10,\"buffer_kb\":60,\"overloaded\":1,\"busy\":1,\"senders\":2,\
             \"burst_kb\":20,\"priority\":0,\"policy\":\"{policy}\",\"alpha\":\"{alpha}\",\"by\":\"port\"}}"
        )
        .into_bytes()
    };
    vec![body("dt", ""), body("abm", "0.5"), body("lqd", "")]
}

/// Sends settings to the server of the playground twice: to run the settings, and to save the
/// settings.
pub(super) fn play(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let Address(host, token) = match &desk.servers.play {
        Some(address) => address.clone(),
        None => desk.servers.play.insert(start(Page::of_play(Play, 0))?).clone(),
    };
    let ask = |path: &str| {
        let head = format!(
            "POST /{token}/{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            input.len()
        );
        exchange(&host, &[head.as_bytes(), input].concat())
    };
    ask("api/scenario")?;
    ask("api/run")
}

/// Valid request paths for the server of the run viewer.
pub(super) fn queries() -> Vec<Vec<u8>> {
    let paths = [
        "api/about",
        "api/window?from=0&until=100000000&points=600&by=port",
        "api/window?from=5&until=6&points=1&by=queue&port=1&priority=0",
        "api/rows?from=0&until=100000000&port=0",
        "api/loss?time=0&backwards=false",
        "api/query?query=0",
        "api/explain?from=0",
        "api/values?name=alpha&queue=0&from=0&until=100000000",
    ];
    paths.map(|path| path.as_bytes().to_vec()).into()
}

/// Sends a request path to the server of the run viewer.
pub(super) fn view(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let Address(host, token) = match &desk.servers.view {
        Some(address) => address.clone(),
        None => {
            let view = View::open(&desk.run()?, None).map_err(|error| error.to_string())?;
            desk.servers.view.insert(start(Page::of_view(view, 0))?).clone()
        }
    };
    let mut request = format!("GET /{token}/").into_bytes();
    request.extend(input);
    request.extend(format!(" HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").bytes());
    exchange(&host, &request)
}

fn start(page: Result<Page, bufferlab_view::ViewError>) -> Result<Address, String> {
    let page = page.map_err(|error| error.to_string())?;
    let url = page.url();
    let mut parts = url.trim_start_matches("http://").split('/');
    let address =
        Address(parts.next().unwrap_or_default().to_owned(), parts.next().unwrap_or_default().to_owned());
    thread::spawn(move || page.serve());
    Ok(address)
}

/// Sends a request to the server of a local page; returns an HTTP error status as an error.
fn exchange(host: &str, request: &[u8]) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(host).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    // The server may close the connection before the client has sent the whole request.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("no answer from the page: {error}"),
    }
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).unwrap_or_default();
    assert_ne!(status, "500", "the page failed: {answer}");
    if status == "200" {
        Ok(())
    } else {
        Err(format!("{status} {}", answer.lines().last().unwrap_or_default()))
    }
}
