//! Serves counters for Prometheus, over HTTP on a loopback port.

use crate::awake::take_usual_priority;
use crate::snapshot::{QueueSnapshot, Snapshot, Watch};
use crate::tallies::{Discard, LinkState};
use bufferlab_params::Choice;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt::{Display, Write};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Opens a listener on `address`, which must be a loopback address.
///
/// # Errors
/// If the address is not a loopback address, or is in use.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    if !address.ip().is_loopback() {
        let message =
            format!("{address} is no loopback address: anybody could read it; use 127.0.0.1 or [::1]");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    TcpListener::bind(address).map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))
}

/// Serves the last snapshot of the counters on `listener`, from a thread with normal priority.
/// `names` are the names of the ports.
pub(crate) fn serve(listener: TcpListener, names: Vec<String>, watch: Arc<Watch>) {
    std::thread::spawn(move || {
        take_usual_priority();
        let counters = move || watch.latest().map(|snapshot| page(&names, &snapshot)).unwrap_or_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        // If the server for counters cannot start, the switch forwards packets without it.
        let _ = runtime.and_then(|runtime| runtime.block_on(accept(listener, Arc::new(counters))));
    });
}

/// Function that formats a page with all counters of the switch.
type Counters = Arc<dyn Fn() -> String + Send + Sync>;

/// Longest time for one connection, so that a stalled peer cannot occupy a socket for longer.
const CONNECTION_MAX: Duration = Duration::from_secs(10);

/// Accepts connections to the counter server until the process ends.
async fn accept(listener: TcpListener, counters: Counters) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(attend(stream, Arc::clone(&counters)))),
            // The system accepts no more connections until some connections end.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Answers one request for counters and closes the connection.
async fn attend(stream: tokio::net::TcpStream, counters: Counters) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(&request, &*counters);
        async { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), service);
    // A client gets no answer if it leaves early or does not read.
    let _ = tokio::time::timeout(CONNECTION_MAX, connection).await;
}

fn answer<B>(request: &Request<B>, counters: &dyn Fn() -> String) -> Response<String> {
    let refused = refusal(request);
    let text = refused.map_or_else(counters, |(_, why)| format!("{why}\n"));
    let mut answer = Response::new(text);
    *answer.status_mut() = refused.map_or(StatusCode::OK, |(code, _)| code);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    answer
}

/// Reason for refusing a request, as a status code and a sentence.
fn refusal<B>(request: &Request<B>) -> Option<(StatusCode, &'static str)> {
    // The name of a foreign page may resolve to this machine (DNS rebinding). The Host header of
    // its requests then names another host.
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_local = hosts.next().and_then(|host| host.to_str().ok()).is_some_and(is_loopback);
    if !is_local || hosts.next().is_some() {
        return Some((
            StatusCode::FORBIDDEN,
            "the request does not name this machine: its Host must be localhost, 127.0.0.1 or [::1]",
        ));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Some((StatusCode::METHOD_NOT_ALLOWED, "counters can only be read: GET or HEAD"));
    }
    // A request target that contains a host is a request to a proxy.
    let is_page = request.uri().authority().is_none() && matches!(request.uri().path(), "/" | "/metrics");
    (!is_page).then_some((StatusCode::NOT_FOUND, "counters are at /metrics"))
}

/// Whether the value of a Host header (RFC 9110, section 7.2) names this machine: `localhost` or a
/// loopback address, with or without a port.
fn is_loopback(host: &str) -> bool {
    let without_port = match host.rsplit_once(':') {
        // In a bracketed address, the text after the last colon is not a port.
        Some((name, port)) if !port.ends_with(']') => {
            if port.parse::<u16>().is_err() {
                return false;
            }
            name
        }
        _ => host,
    };
    if without_port.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let v6 = without_port.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match v6 {
        Some(address) => address.parse().is_ok_and(|address: std::net::Ipv6Addr| address.is_loopback()),
        None => {
            without_port.parse().is_ok_and(|address| matches!(address, IpAddr::V4(v4) if v4.is_loopback()))
        }
    }
}

/// A metric family in the text format of Prometheus.
struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl<'a> Family<'a> {
    fn new(text: &'a mut String, name: &'static str, kind: &str, help: &str) -> Self {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Self { text, name }
    }

    fn sample(&mut self, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.sample_of("", labels, value);
    }

    /// Adds a sample whose metric name ends in `suffix`, as in a summary.
    fn sample_of(&mut self, suffix: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(&value.to_string())))
            .collect();
        let _ = writeln!(self.text, "{}{suffix}{{{}}} {value}", self.name, labels.join(","));
    }
}

/// Escapes the value of a metric's label: backslash, quotation mark and line feed.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Formats the page of all counters. `names` are the names of the ports.
pub(crate) fn page(names: &[String], snapshot: &Snapshot) -> String {
    let mut text = String::with_capacity(8_192);
    ports(names, snapshot, &mut text);
    queues(names, snapshot, &mut text);
    let mut single = |name, kind, help, value: u64| {
        Family::new(&mut text, name, kind, help).sample(&[], value);
    };
    single("bufferlab_buffer_bytes", "gauge", "Bytes stored.", snapshot.occupancy);
    single("bufferlab_buffer_capacity_bytes", "gauge", "Bytes that can be stored.", snapshot.capacity);
    let help = "Arrivals for times that had been decided.";
    single("bufferlab_late_arrivals_total", "counter", help, snapshot.late_arrivals);
    let help = "Frames that the system dropped before they were read.";
    single("bufferlab_missed_frames_total", "counter", help, snapshot.missed);
    if let Some(left_out) = snapshot.left_out {
        let help = "Frames that are not in the captures, because the disk did not follow.";
        single("bufferlab_capture_left_out_frames_total", "counter", help, left_out);
    }
    let help = "Refused or evicted packets by reason.";
    let mut lost = Family::new(&mut text, "bufferlab_lost_packets_total", "counter", help);
    for (reason, packets) in snapshot.losses() {
        lost.sample(&[("reason", &reason)], packets);
    }
    let help = "How late frames were handed over (s), since the start.";
    let mut late = Family::new(&mut text, "bufferlab_lateness_seconds", "summary", help);
    for (quantile, ns) in [0.5, 0.99, 0.999].into_iter().zip(snapshot.lateness_ns) {
        late.sample(&[("quantile", &quantile)], ns as f64 / 1e9);
    }
    late.sample_of("_sum", &[], snapshot.lateness_sum_ns as f64 / 1e9);
    late.sample_of("_count", &[], snapshot.handed_over);
    text
}

fn ports(names: &[String], snapshot: &Snapshot, text: &mut String) {
    type Count = fn(&crate::tallies::Tallies) -> u64;
    let families: [(&'static str, &str, Count); 7] = [
        ("bufferlab_port_received_frames_total", "Frames received.", |one| one.received),
        ("bufferlab_port_received_bytes_total", "Bytes received.", |one| one.received_bytes),
        ("bufferlab_port_sent_frames_total", "Frames sent.", |one| one.sent),
        ("bufferlab_port_sent_bytes_total", "Bytes sent.", |one| one.sent_bytes),
        ("bufferlab_port_refused_frames_total", "Frames that the interface refused.", |one| one.refused),
        (
            "bufferlab_port_finished_checksums_total",
            "Checksums that their senders had left to a card.",
            |one| one.checksums,
        ),
        ("bufferlab_port_flooded_frames_total", "Frames copied to all other ports.", |one| one.flooded),
    ];
    for (name, help, count) in families {
        let mut family = Family::new(text, name, "counter", help);
        for (name, port) in names.iter().zip(&snapshot.ports) {
            family.sample(&[("port", name)], count(&port.tallies));
        }
    }
    let help = "Whether the interface can send and receive.";
    let mut family = Family::new(text, "bufferlab_port_up", "gauge", help);
    for (name, port) in names.iter().zip(&snapshot.ports) {
        family.sample(&[("port", name)], u8::from(port.tallies.link == LinkState::Up));
    }
    let help = "Frames discarded before the policy was asked.";
    let mut family = Family::new(text, "bufferlab_port_discarded_frames_total", "counter", help);
    for (name, port) in names.iter().zip(&snapshot.ports) {
        for why in Discard::ALL {
            family.sample(&[("port", name), ("reason", &why.word())], port.tallies.discarded(*why));
        }
    }
}

fn queues(names: &[String], snapshot: &Snapshot, text: &mut String) {
    type Value = fn(&QueueSnapshot) -> Option<u64>;
    let families: [(&'static str, &str, &str, Value); 7] = [
        ("bufferlab_queue_arrived_packets_total", "counter", "Packets that asked for space.", |one| {
            Some(one.counters.arrived)
        }),
        ("bufferlab_queue_enqueued_packets_total", "counter", "Packets stored.", |one| {
            Some(one.counters.enqueued)
        }),
        ("bufferlab_queue_dropped_packets_total", "counter", "Packets refused.", |one| {
            Some(one.counters.dropped)
        }),
        (
            "bufferlab_queue_evicted_packets_total",
            "counter",
            "Packets removed after having been stored.",
            |one| Some(one.counters.evicted),
        ),
        ("bufferlab_queue_marked_packets_total", "counter", "Packets marked.", |one| {
            Some(one.counters.marked)
        }),
        ("bufferlab_queue_bytes", "gauge", "Bytes stored.", |one| Some(one.bytes)),
        ("bufferlab_queue_threshold_bytes", "gauge", "The policy's limit.", |one| one.threshold),
    ];
    for (name, kind, help, value) in families {
        let mut family = Family::new(text, name, kind, help);
        for queue in &snapshot.queues {
            if let Some(value) = value(queue) {
                let port = &names[usize::from(queue.port)];
                family.sample(&[("port", port), ("priority", &queue.priority)], value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SwitchFile;
    use crate::lateness::Durations;
    use crate::pipeline::Pipeline;
    use bufferlab_units::Time;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn switch() -> SwitchFile {
        let text = "[[port]]\ninterface = \"a\"\nrate = \"1 Gb/s\"\n[[port]]\ninterface = \"b\"\nrate = \"1 Gb/s\"\n\
                    [switch]\nbuffer = \"10 KB\"\npolicy = \"dt\"\n[forwarding]\ndelay = \"0 s\"\n";
        crate::load_text("switch.toml".as_ref(), text).expect("it is right")
    }

    #[test]
    fn the_page_has_what_was_counted() {
        let file = switch();
        let mut pipeline = Pipeline::new(&file, None).expect("the policy fits");
        let mut frame = vec![0; 100];
        (frame[5], frame[11]) = (1, 2);
        pipeline.receive(0, Time::from_ms(1), &frame).expect("it is well-formed");
        let _ = pipeline.receive(0, Time::from_ms(1), &frame[..9]);
        pipeline.advance(Time::from_ms(2));
        let mut snapshot = Snapshot::default();
        snapshot.take(&pipeline, &Durations::default());
        let page = page(&file.names(), &snapshot);
        for line in [
            "bufferlab_port_received_frames_total{port=\"a\"} 2",
            "bufferlab_port_discarded_frames_total{port=\"a\",reason=\"truncated\"} 1",
            "bufferlab_queue_arrived_packets_total{port=\"b\",priority=\"0\"} 1",
            "bufferlab_queue_threshold_bytes{port=\"a\",priority=\"0\"} 5000",
            "bufferlab_buffer_capacity_bytes{} 10000",
            "bufferlab_port_up{port=\"a\"} 1",
            "bufferlab_lateness_seconds_count{} 0",
        ] {
            assert!(page.lines().any(|one| one == line), "{line}\n\n{page}");
        }
        // Each sample must belong to the metric family of the preceding `# TYPE` line.
        let mut family = "";
        for line in page.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => family = rest.split(' ').next().unwrap_or_default(),
                None if line.starts_with('#') => {}
                None => {
                    let rest = line.strip_prefix(family).unwrap_or_else(|| panic!("{line}"));
                    assert!(["{", "_sum{", "_count{"].iter().any(|begin| rest.starts_with(begin)), "{line}");
                }
            }
        }
    }

    #[test]
    fn a_label_has_no_quotation_mark_backslash_or_line_feed_of_its_own() {
        let mut text = String::new();
        let value = "a\\b\"c\nd";
        Family::new(&mut text, "x", "gauge", "Help.").sample(&[("port", &value)], 1);
        assert_eq!(text.lines().last(), Some("x{port=\"a\\\\b\\\"c\\nd\"} 1"), "{text}");
    }

    /// Sends `lines` as a request to a counter server whose switch has a capacity of 7. Returns the
    /// answer.
    fn answer(address: SocketAddr, lines: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(format!("{lines}\r\nConnection: close\r\n\r\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    fn start() -> SocketAddr {
        let listener = listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let (address, watch) = (listener.local_addr().expect("an address"), Arc::new(Watch::default()));
        let mut snapshot = Box::new(Snapshot { capacity: 7, ..Snapshot::default() });
        assert!(watch.publish(&mut snapshot), "nobody reads");
        serve(listener, Vec::new(), watch);
        address
    }

    #[test]
    fn the_page_is_served_to_this_machine_alone() {
        let address = start();
        for path in ["/", "/metrics", "/metrics?name=x"] {
            let answer = answer(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}"));
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
            assert!(answer.contains("version=0.0.4"), "{answer}");
            assert!(answer.contains("\nbufferlab_buffer_capacity_bytes{} 7\n"), "{answer}");
        }
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let error = listen(address.parse().expect("an address")).expect_err("everybody could read it");
            assert!(error.to_string().contains("no loopback address"), "{error}");
        }
    }

    #[test]
    fn requests_that_name_another_host_or_write_or_look_elsewhere_are_refused() {
        let address = start();
        for (lines, code) in [
            ("GET /metrics HTTP/1.1\r\nHost: evil.example", "403"),
            ("GET /metrics HTTP/1.1\r\nHost: localhost.evil.example", "403"),
            ("GET /metrics HTTP/1.1\r\nHost: localhost:9420\r\nHost: evil.example", "403"),
            ("GET /metrics HTTP/1.0", "403"),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", "405"),
            ("DELETE / HTTP/1.1\r\nHost: localhost", "405"),
            ("GET /metrics/ HTTP/1.1\r\nHost: localhost", "404"),
            ("GET /etc/passwd HTTP/1.1\r\nHost: localhost", "404"),
            ("GET http://localhost/metrics HTTP/1.1\r\nHost: localhost", "404"),
            ("GET /metrics HTTP/1.1\r\nHost: LocalHost:1", "200"),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]:9420", "200"),
            ("GET /metrics HTTP/1.0\r\nHost: 127.1.2.3", "200"),
        ] {
            let answer = answer(address, lines);
            assert_eq!(answer.split(' ').nth(1), Some(code), "{lines}: {answer}");
            assert_eq!(answer.contains("bufferlab_buffer"), code == "200", "{lines}: {answer}");
            assert_eq!(answer.contains("Allow: GET, HEAD"), code == "405", "{lines}: {answer}");
        }
        let head = answer(address, "HEAD /metrics HTTP/1.1\r\nHost: localhost");
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn a_host_is_this_machine_by_name_or_loopback_address() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:65535"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            ":",
            "::1",
            "[::1",
            "[::2]",
            "127.0.0.1.evil",
            "localhost.",
            "localhost:x",
            "10.0.0.1",
            "[127.0.0.1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
