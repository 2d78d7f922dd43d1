//! Counters for Prometheus, over HTTP on a loopback port.

use crate::config::SwitchFile;
use crate::pipeline::Pipeline;
use crate::shell::{Lateness, give_up_rights};
use crate::tallies::Discard;
use bufferlab_core::Tags;
use bufferlab_params::Choice;
use std::fmt::{Display, Write};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tiny_http::{Header, Response, Server};

/// Answers with the page that was published last.
#[derive(Debug)]
pub(crate) struct MetricsServer {
    page: Arc<Mutex<String>>,
    /// Where it listens.
    #[cfg(test)]
    address: SocketAddr,
}

impl MetricsServer {
    /// Listens on `address`, which must be of this machine alone.
    ///
    /// # Errors
    /// If the address is not a loopback address, or taken.
    pub(crate) fn start(address: SocketAddr) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let message =
                format!("{address} is no loopback address: anybody could read it; use 127.0.0.1 or [::1]");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let server = Server::http(address).map_err(io::Error::other)?;
        #[cfg(test)]
        let address = server.server_addr().to_ip().expect("it listens on an address");
        let page = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&page);
        std::thread::spawn(move || {
            give_up_rights();
            let kind = Header::from_bytes("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            let kind = kind.expect("it is a header");
            for request in server.incoming_requests() {
                let text = shown.lock().map(|page| page.clone()).unwrap_or_default();
                // Whoever has gone gets nothing.
                let _ = request.respond(Response::from_string(text).with_header(kind.clone()));
            }
        });
        Ok(Self {
            page,
            #[cfg(test)]
            address,
        })
    }

    /// Shows `text` from now on; not if somebody reads right now, because frames do not wait.
    pub(crate) fn publish(&self, text: String) {
        if let Ok(mut page) = self.page.try_lock() {
            *page = text;
        }
    }
}

/// A family of samples in the text format of Prometheus.
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
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| {
                format!("{name}=\"{}\"", value.to_string().replace('\\', "\\\\").replace('"', "\\\""))
            })
            .collect();
        let _ = writeln!(self.text, "{}{{{}}} {value}", self.name, labels.join(","));
    }
}

/// Everything that is counted, as a page.
pub(crate) fn page(file: &SwitchFile, pipeline: &Pipeline, lateness: &Lateness) -> String {
    let mut text = String::with_capacity(8_192);
    ports(file, pipeline, &mut text);
    queues(file, pipeline, &mut text);
    let core = pipeline.driver().core();
    Family::new(&mut text, "bufferlab_buffer_bytes", "gauge", "Bytes stored.")
        .sample(&[], core.buffer().occupancy());
    Family::new(&mut text, "bufferlab_buffer_capacity_bytes", "gauge", "Bytes that can be stored.")
        .sample(&[], core.buffer().capacity());
    let mut lost = Family::new(
        &mut text,
        "bufferlab_lost_packets_total",
        "counter",
        "Refused or evicted packets by reason.",
    );
    for (reason, packets) in pipeline.losses() {
        lost.sample(&[("reason", &reason)], packets);
    }
    Family::new(
        &mut text,
        "bufferlab_late_arrivals_total",
        "counter",
        "Arrivals for times that had been decided.",
    )
    .sample(&[], pipeline.driver().late());
    let help = "How late frames were handed over (s), since the start.";
    let mut late = Family::new(&mut text, "bufferlab_lateness_seconds", "gauge", help);
    for quantile in [0.5, 0.99, 0.999] {
        late.sample(&[("quantile", &quantile)], lateness.quantile(quantile) as f64 / 1e9);
    }
    text
}

fn ports(file: &SwitchFile, pipeline: &Pipeline, text: &mut String) {
    type Count = fn(&crate::tallies::Tallies) -> u64;
    let families: [(&'static str, &str, Count); 6] = [
        ("bufferlab_port_received_frames_total", "Frames received.", |one| one.received),
        ("bufferlab_port_received_bytes_total", "Bytes received.", |one| one.received_bytes),
        ("bufferlab_port_sent_frames_total", "Frames sent.", |one| one.sent),
        ("bufferlab_port_sent_bytes_total", "Bytes sent.", |one| one.sent_bytes),
        ("bufferlab_port_refused_frames_total", "Frames that the interface refused.", |one| one.refused),
        ("bufferlab_port_flooded_frames_total", "Frames copied to all other ports.", |one| one.flooded),
    ];
    for (name, help, count) in families {
        let mut family = Family::new(text, name, "counter", help);
        for (port, tallies) in file.ports.iter().zip(pipeline.tallies()) {
            family.sample(&[("port", &port.interface)], count(tallies));
        }
    }
    let help = "Frames discarded before the policy was asked.";
    let mut family = Family::new(text, "bufferlab_port_discarded_frames_total", "counter", help);
    for (port, tallies) in file.ports.iter().zip(pipeline.tallies()) {
        for why in Discard::ALL {
            family.sample(&[("port", &port.interface), ("reason", &why.word())], tallies.discarded(*why));
        }
    }
}

fn queues(file: &SwitchFile, pipeline: &Pipeline, text: &mut String) {
    type Count = fn(bufferlab_core::Counters) -> u64;
    let core = pipeline.driver().core();
    let place = |queue| {
        let (port, priority) = core.buffer().port_and_priority(queue);
        (file.ports[usize::from(port)].interface.as_str(), priority)
    };
    let families: [(&'static str, &str, Count); 5] = [
        ("bufferlab_queue_arrived_packets_total", "Packets that asked for space.", |one| one.arrived),
        ("bufferlab_queue_enqueued_packets_total", "Packets stored.", |one| one.enqueued),
        ("bufferlab_queue_dropped_packets_total", "Packets refused.", |one| one.dropped),
        ("bufferlab_queue_evicted_packets_total", "Packets removed after having been stored.", |one| {
            one.evicted
        }),
        ("bufferlab_queue_marked_packets_total", "Packets marked.", |one| one.marked),
    ];
    for (name, help, count) in families {
        let mut family = Family::new(text, name, "counter", help);
        for queue in core.buffer().queue_ids() {
            let (port, priority) = place(queue);
            family.sample(&[("port", &port), ("priority", &priority)], count(core.counters(queue)));
        }
    }
    let mut family = Family::new(text, "bufferlab_queue_bytes", "gauge", "Bytes stored.");
    for queue in core.buffer().queue_ids() {
        let (port, priority) = place(queue);
        family.sample(&[("port", &port), ("priority", &priority)], core.buffer().queue_bytes(queue));
    }
    let mut family = Family::new(text, "bufferlab_queue_threshold_bytes", "gauge", "The policy's limit.");
    for queue in core.buffer().queue_ids() {
        let (port, priority) = place(queue);
        if let Some(bytes) = core.threshold(queue, Tags::NONE) {
            family.sample(&[("port", &port), ("priority", &priority)], bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let page = page(&file, &pipeline, &Lateness::default());
        for line in [
            "bufferlab_port_received_frames_total{port=\"a\"} 2",
            "bufferlab_port_discarded_frames_total{port=\"a\",reason=\"truncated\"} 1",
            "bufferlab_queue_arrived_packets_total{port=\"b\",priority=\"0\"} 1",
            "bufferlab_queue_threshold_bytes{port=\"a\",priority=\"0\"} 5000",
            "bufferlab_buffer_capacity_bytes{} 10000",
        ] {
            assert!(page.lines().any(|one| one == line), "{line}\n\n{page}");
        }
        // Every sample belongs to the family above it.
        let mut family = "";
        for line in page.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => family = rest.split(' ').next().unwrap_or_default(),
                None if line.starts_with('#') => {}
                None => assert!(line.starts_with(&format!("{family}{{")), "{line}"),
            }
        }
    }

    #[test]
    fn the_page_is_served_to_this_machine_alone() {
        let server = MetricsServer::start("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        server.publish("bufferlab_test{} 1\n".to_owned());
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("version=0.0.4") && answer.ends_with("bufferlab_test{} 1\n"), "{answer}");
        let error = MetricsServer::start("0.0.0.0:0".parse().expect("an address"))
            .expect_err("everybody could read it");
        assert!(error.to_string().contains("no loopback address"), "{error}");
    }
}
