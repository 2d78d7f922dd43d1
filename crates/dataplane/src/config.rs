//! Reads a switch from its file. This module reads the keys of the switch program; the scenario's
//! reader reads `[switch]`.

use crate::addresses::MacAddress;
use crate::format::ROOT;
use crate::frame::SMALLEST_BYTES;
use bufferlab_document::context::{Complaint, Context};
use bufferlab_document::files;
use bufferlab_document::reader::Reader;
use bufferlab_document::setting::Setting;
use bufferlab_document::tree::{Origin, Value};
use bufferlab_document::{LoadError, Problem};
use bufferlab_params::Profile;
use bufferlab_scenario::{Scenario, format_rate, load_text_with};
use bufferlab_units::{BitRate, Time};
use std::fmt::Write as _;
use std::path::Path;

/// A port of the switch, as the switch file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Name of the network interface that is the port.
    pub interface: String,
    /// Bit rate of the port's virtual clock.
    pub rate: BitRate,
    /// Configured addresses of the hosts at the port.
    pub addresses: Vec<MacAddress>,
}

/// Settings of a switch besides the buffer: the table `[forwarding]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// Time from the arrival of a frame to its admission to the buffer.
    pub delay: Time,
    /// Number of bytes on the wire in addition to the frame.
    pub overhead_bytes: u32,
    /// Length of the longest frame (bytes), with its header, without its check sequence.
    pub largest_frame: usize,
    /// Priority of frames for each code point (DSCP) of their IP header.
    pub priority_of: [u8; 64],
    /// Priority of frames by the priority of their VLAN tag; `None` if the code point decides.
    pub priority_of_tag: [Option<u8>; 8],
    /// Whether the switch learns the source addresses of frames.
    pub learn: bool,
    /// Time after which the switch forgets an unused learned address.
    pub forget_after: Time,
    /// Maximum number of addresses that the switch learns.
    pub addresses_max: usize,
    /// Maximum number of frames per second that the switch sends to all ports.
    pub flood_limit: u64,
}

/// A switch for real packets, as its file describes it.
#[derive(Clone, Debug)]
pub struct SwitchFile {
    /// Scenario of the switch: one switch with a host at every port. The host's name is the name of
    /// the interface, and its link has the port's rate. The traffic of the hosts has no meaning.
    pub scenario: Scenario,
    /// Ports that the switch file describes.
    pub ports: Vec<PortSpec>,
    /// Settings of the switch besides the buffer (`[forwarding]`).
    pub forwarding: Forwarding,
    /// Text of the file that describes the switch.
    pub text: String,
    /// Warnings about the switch file, to check before trusting the numbers.
    pub warnings: Vec<Problem>,
}

impl SwitchFile {
    /// Names of the interfaces that are the ports.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.ports.iter().map(|port| port.interface.clone()).collect()
    }
}

/// Keys of a switch file that the scenario's reader does not know.
struct Own {
    /// Remaining keys of the switch file, for the scenario's reader.
    settings: Vec<Setting>,
    ports: Vec<PortSpec>,
    forwarding: Forwarding,
}

/// Reads the file that describes a switch.
///
/// # Errors
/// All mistakes in the file, with file, line, key and advice.
pub fn load(path: &Path) -> Result<SwitchFile, LoadError> {
    match files::read_text(path) {
        Ok(text) => load_text(path, &text),
        Err(error) => {
            let context = Context::new("switch");
            let complaint =
                Complaint::new(format!("cannot read {}: {}", path.display(), files::reason(&error)), "");
            let help = match files::nearby_file(path) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "give the path of a switch's file; docs/how-to/real-switch.md shows one".to_owned(),
            };
            context.error("", Origin::BUILT_IN, complaint.help(help));
            Err(context.into_error(&path.display().to_string()))
        }
    }
}

/// Reads a switch from `text`, which error messages treat as the content of the file `path`.
///
/// # Errors
/// Returns the errors of [`load`].
pub fn load_text(path: &Path, text: &str) -> Result<SwitchFile, LoadError> {
    let mut context = Context::new("switch");
    let name = path.display().to_string();
    let stem = path.file_stem().map_or_else(|| "switch".into(), |stem| stem.to_string_lossy().into_owned());
    let start = context.mark();
    let root = files::parse(&mut context, path, text);
    let open = |root| Reader::open(&context, &ROOT, String::new(), Some(root));
    let own = root.as_ref().and_then(open).and_then(|root| read_own(root, &stem));
    let Some(own) = own.filter(|_| !context.failed_since(start)) else {
        return Err(context.into_error(&name));
    };
    let loaded = load_text_with(path, &scenario_text(&own), &own.settings)?;
    check_supported(&context, &own.settings, &loaded.scenario);
    if context.failed_since(start) {
        return Err(context.into_error(&name));
    }
    // Warnings about hosts have no meaning for a switch with real hosts.
    let is_of_switch = |problem: &Problem| problem.key().starts_with("switch");
    let warnings = loaded.warnings.into_iter().filter(is_of_switch).collect();
    let Own { ports, forwarding, .. } = own;
    Ok(SwitchFile { scenario: loaded.scenario, ports, forwarding, text: text.to_owned(), warnings })
}

fn read_own(mut root: Reader<'_>, stem: &str) -> Option<Own> {
    let (name, seed) = (root.text_or("name", stem), root.count("seed"));
    let profile = root.choice::<Profile>("profile");
    let mut settings = root.settings("switch");
    for setting in &mut settings {
        setting.key = format!("switch.{}", setting.key);
    }
    let ports = read_ports(&mut root);
    let forwarding = root.table("forwarding").and_then(read_forwarding);
    root.finish();
    settings.push(Setting::new("name", Value::String(name)));
    settings.push(Setting::new("seed", Value::Integer(seed?.into())));
    settings.push(Setting::new("profile", Value::String(profile?.word().to_owned())));
    Some(Own { settings, ports: ports?, forwarding: forwarding? })
}

fn read_ports(root: &mut Reader<'_>) -> Option<Vec<PortSpec>> {
    let mut ports: Vec<PortSpec> = Vec::new();
    let (mut is_complete, mut has_twins) = (true, false);
    for mut reader in root.tables("port") {
        let (interface, rate) = (reader.text("interface"), reader.rate("rate"));
        let mut addresses = Vec::new();
        for (text, origin) in reader.texts("addresses").unwrap_or_default() {
            match text.parse() {
                Ok(address) => addresses.push(address),
                Err(message) => {
                    let complaint = Complaint::new(message, "not an address of the link layer");
                    let help = "`ip link` shows the address of an interface behind link/ether";
                    reader.context.error(&reader.path("addresses"), origin, complaint.help(help));
                }
            }
        }
        if let Some(name) =
            interface.as_ref().filter(|name| ports.iter().any(|port| port.interface == **name))
        {
            has_twins = true;
            let complaint =
                Complaint::new(format!("two ports have the interface \"{name}\""), "the second one");
            reader.error("interface", complaint.help("every port needs a different interface"));
        }
        match (interface, rate) {
            (Some(interface), Some(rate)) => ports.push(PortSpec { interface, rate, addresses }),
            _ => is_complete = false,
        }
        reader.finish();
    }
    if is_complete && !has_twins && ports.len() == 1 {
        let complaint = Complaint::new("a switch with one port forwards nothing", "the only port");
        root.error("port", complaint.help("add another [[port]]"));
    }
    is_complete.then_some(ports)
}

fn read_forwarding(mut reader: Reader<'_>) -> Option<Forwarding> {
    let other = reader.count("other_priority");
    let mut priority_of = [other.unwrap_or(0) as u8; 64];
    for mut entry in reader.tables("priorities") {
        if let (Some(code_point), Some(priority)) = (entry.count("code_point"), entry.count("priority")) {
            priority_of[code_point as usize] = priority as u8;
        }
        entry.finish();
    }
    let mut priority_of_tag = [None; 8];
    for mut entry in reader.tables("tag_priorities") {
        if let (Some(tag), Some(priority)) = (entry.count("tag"), entry.count("priority")) {
            priority_of_tag[tag as usize] = Some(priority as u8);
        }
        entry.finish();
    }
    let (delay, overhead, largest) =
        (reader.time("delay"), reader.small_size("overhead"), reader.size("largest_frame"));
    let (learn, forget_after) = (reader.flag("learn"), reader.time("forget_after"));
    let (addresses_max, flood_limit) = (reader.count("addresses_max"), reader.count("flood_limit"));
    reader.finish();
    Some(Forwarding {
        delay: delay?,
        overhead_bytes: overhead?,
        largest_frame: largest? as usize,
        priority_of,
        priority_of_tag,
        learn: learn?,
        forget_after: forget_after?,
        addresses_max: addresses_max? as usize,
        flood_limit: flood_limit?,
    })
}

/// Formats a scenario around the switch, with a host at every port. A scenario needs a workload, so
/// the text has one.
fn scenario_text(own: &Own) -> String {
    let quoted = |port: &PortSpec| format!("{:?}", port.interface);
    let hosts: Vec<_> = own.ports.iter().map(quoted).collect();
    let mut text = String::from("duration = \"1 s\"\n[topology]\nkind = \"graph\"\n");
    let _ = writeln!(text, "hosts = [{}]\nswitches = [\"switch\"]\nlinks = [", hosts.join(", "));
    for port in &own.ports {
        let rate = format_rate(port.rate);
        let _ = writeln!(
            text,
            "  {{ a = {}, b = \"switch\", rate = {rate:?}, delay = \"1 ns\" }},",
            quoted(port)
        );
    }
    text.push_str("]\n");
    // In the scenario, all bytes of a frame beyond the smallest frame count as payload.
    let smallest = SMALLEST_BYTES + own.forwarding.overhead_bytes as usize;
    let payload = (own.forwarding.largest_frame - SMALLEST_BYTES).max(1);
    for (name, ecn) in TRANSPORTS {
        let _ = writeln!(
            text,
            "[[transport]]\nname = \"{name}\"\necn_capable = {ecn}\ncongestion_control = \"none\"\nrate = \"1 Gb/s\"\n\
             segment_bytes = \"{payload} B\"\nheader_bytes = \"{smallest} B\""
        );
    }
    text.push_str("[[workload]]\nkind = \"incast\"\ntransport = \"plain\"\nrequest = \"1 KB\"\nfan_in = 1\n");
    text.push_str("queries_per_second_per_host = 1.0\n");
    text
}

/// Transports of the scenario around a switch, and whether their packets are ECN-capable.
pub(crate) const TRANSPORTS: [(&str, bool); 2] = [("plain", false), ("capable", true)];

/// Rejects settings of features that only the simulator has.
fn check_supported(context: &Context, settings: &[Setting], scenario: &Scenario) {
    let spec = &scenario.switches[0];
    let hardware = &spec.hardware;
    let refused = [
        ("pfc", spec.pfc.is_some(), "it would have to send pause frames to its neighbours"),
        ("hardware", hardware.slices > 1, "it has one memory: leave out `slices`"),
        (
            "hardware",
            hardware.cut_through_bytes.is_some(),
            "it forwards whole frames: leave out `cut_through`",
        ),
        (
            "hardware",
            hardware.device_queue > 0,
            "it has no queue behind the buffer: leave out `device_queue`",
        ),
    ];
    for (key, is_there, why) in refused {
        if is_there {
            let key = format!("switch.{key}");
            let place = settings.iter().find(|setting| setting.key.starts_with(&key));
            let origin = place.map_or(Origin::BUILT_IN, |setting| setting.key_origin);
            let complaint =
                Complaint::new("a switch of real packets cannot do this", "the simulator's alone");
            context.error(&key, origin, complaint.help(why));
        }
    }
}
