//! Counters for Prometheus, over HTTP on a loopback port.

use crate::rights;
use crate::snapshot::{QueueSnapshot, Snapshot, Watch};
use crate::tallies::Discard;
use bufferlab_params::Choice;
use std::fmt::{Display, Write};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tiny_http::{Header, Response, Server};

/// Answers with the last snapshot.
#[derive(Debug)]
pub(crate) struct MetricsServer {
    /// Where it listens.
    #[cfg(test)]
    address: SocketAddr,
}

impl MetricsServer {
    /// Listens on `address`, which must be of this machine alone. `names`: of the ports.
    ///
    /// # Errors
    /// If the address is not a loopback address, or taken.
    pub(crate) fn start(address: SocketAddr, names: Vec<String>, watch: Arc<Watch>) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let message =
                format!("{address} is no loopback address: anybody could read it; use 127.0.0.1 or [::1]");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let server = Server::http(address).map_err(io::Error::other)?;
        #[cfg(test)]
        let address = server.server_addr().to_ip().expect("it listens on an address");
        std::thread::spawn(move || {
            rights::give_up();
            let kind = Header::from_bytes("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            let kind = kind.expect("it is a header");
            for request in server.incoming_requests() {
                let text = watch.latest().map(|snapshot| page(&names, &snapshot)).unwrap_or_default();
                // Whoever has gone gets nothing.
                let _ = request.respond(Response::from_string(text).with_header(kind.clone()));
            }
        });
        Ok(Self {
            #[cfg(test)]
            address,
        })
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

/// Everything that is counted, as a page. `names`: of the ports.
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
    let mut late = Family::new(&mut text, "bufferlab_lateness_seconds", "gauge", help);
    for (quantile, ns) in [0.5, 0.99, 0.999].into_iter().zip(snapshot.lateness_ns) {
        late.sample(&[("quantile", &quantile)], ns as f64 / 1e9);
    }
    text
}

fn ports(names: &[String], snapshot: &Snapshot, text: &mut String) {
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
        for (name, port) in names.iter().zip(&snapshot.ports) {
            family.sample(&[("port", name)], count(&port.tallies));
        }
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
    use crate::lateness::Lateness;
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
        snapshot.take(&pipeline, &Lateness::default());
        let page = page(&file.names(), &snapshot);
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
        let watch = Arc::new(Watch::default());
        let start = |address: &str| {
            MetricsServer::start(address.parse().expect("an address"), Vec::new(), Arc::clone(&watch))
        };
        let server = start("127.0.0.1:0").expect("a free port");
        let mut snapshot = Box::new(Snapshot { capacity: 7, ..Snapshot::default() });
        assert!(watch.publish(&mut snapshot), "nobody reads");
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            answer.contains("version=0.0.4") && answer.contains("\nbufferlab_buffer_capacity_bytes{} 7\n"),
            "{answer}"
        );
        let error = start("0.0.0.0:0").expect_err("everybody could read it");
        assert!(error.to_string().contains("no loopback address"), "{error}");
    }
}
