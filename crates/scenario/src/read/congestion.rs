//! Congestion control of a `[[transport]]`, and the keys that depend on this control.

use super::named::{self, Chosen, Named};
use crate::context::Complaint;
use crate::model::{InitialWindow, TelemetryPath, TelemetryScope};
use crate::reader::Reader;
use bufferlab_params::{ParamValue, Profile};
use bufferlab_transport::{CONTROLS, CongestionControlInfo, TcpConfig, UNRESPONSIVE};
use bufferlab_units::Time;

/// Value of a transport's key `congestion_control`: a registered congestion control or `none`.
#[derive(Debug)]
pub(crate) struct ControlChoice(Named<CongestionControlInfo>);

impl ControlChoice {
    /// Name of the congestion control; `"none"` if the transport is open-loop.
    pub(crate) fn name(&self) -> &'static str {
        match &self.0 {
            Named::Entry(chosen) => chosen.info.name,
            Named::Word(word) => word,
        }
    }

    /// Whether the transport sends packets by the clock alone, without feedback.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.name() == UNRESPONSIVE
    }

    /// Registry entry of the congestion control; `None` if the transport is open-loop.
    pub(crate) fn info(&self) -> Option<&'static CongestionControlInfo> {
        match &self.0 {
            Named::Entry(chosen) => Some(chosen.info),
            Named::Word(_) => None,
        }
    }

    /// Names and values of the congestion control's parameters.
    pub(crate) fn values(&self) -> Vec<(String, ParamValue)> {
        match &self.0 {
            Named::Entry(chosen) => chosen.values(),
            Named::Word(_) => Vec::new(),
        }
    }
}

/// Reads the key `congestion_control`; `None` if the value is invalid.
pub(crate) fn read(reader: &mut Reader<'_>, profile: Profile) -> Option<ControlChoice> {
    let named = named::read_or_word(reader, "congestion_control", &CONTROLS, &[UNRESPONSIVE], profile)?;
    if let Named::Entry(chosen) = &named {
        refuse_contradictions(reader, chosen)?;
    }
    Some(ControlChoice(named))
}

/// Rejects parameters that contradict each other. A contradiction does not depend on the path, so
/// the check configures the congestion control for a default path.
fn refuse_contradictions(reader: &Reader<'_>, chosen: &Chosen<CongestionControlInfo>) -> Option<()> {
    let error = match chosen.info.configure(&chosen.params, &TcpConfig::default()) {
        Ok(_) => return Some(()),
        Err(error) => error,
    };
    let path = format!("{}.{}", reader.path("congestion_control"), error.param);
    let complaint = Complaint::new(format!("`{}`: {}", error.param, error.message), "this value");
    let param = chosen.info.params.iter().find(|param| param.name == error.param);
    let complaint = complaint.maybe_help(param.map(|param| param.documentation().into_owned()));
    reader.context.error(&path, chosen.place(error.param), complaint);
    None
}

/// Reads the base round trip, from which windows and rates are computed. If no window or rate
/// depends on the base round trip, the resolved scenario omits the key. A key in the file then gets
/// a warning.
pub(crate) fn read_base_rtt(
    reader: &mut Reader<'_>,
    control: Option<&ControlChoice>,
    initial_window: Option<InitialWindow>,
) -> Option<Time> {
    let base_rtt = reader.time("base_rtt");
    let control = control?;
    let governs = control.info().is_some_and(|info| info.owns_window);
    let is_used = governs || initial_window == Some(InitialWindow::BandwidthDelay);
    if !is_used || control.is_open_loop() {
        if reader.has("base_rtt") {
            let complaint = Complaint::new(
                format!("`base_rtt` has no effect with congestion_control = \"{}\"", control.name()),
                "it belongs to controls that set a rate, and to initial_window = \"bdp\"",
            );
            reader.warn("base_rtt", complaint.help("remove `base_rtt`"));
        }
        reader.out.remove("base_rtt");
    }
    base_rtt
}

/// Reads the keys of telemetry: which reports switches send to the congestion control, and which
/// packets collect the reports. If the congestion control needs no reports, the resolved scenario
/// omits the keys of telemetry, and keys in the file get a warning.
pub(crate) fn read_telemetry(
    reader: &mut Reader<'_>,
    control: Option<&ControlChoice>,
    is_rdma: bool,
    profile: Profile,
) -> (TelemetryScope, TelemetryPath) {
    let (scope, path) = match profile {
        // Switches in ABM's public code report the queue of the packet's class; switches in
        // Reverie's code report the port. In ABM's code, switches also report to ACKs: an ACK
        // appends to the reports that its data packet has collected.
        Profile::Artifact if !is_rdma => (TelemetryScope::Queue, TelemetryPath::RoundTrip),
        _ => (TelemetryScope::Port, TelemetryPath::Data),
    };
    let scope = reader.choice_or("telemetry", scope);
    let path = reader.choice_or("telemetry_path", path);
    let asks = control.and_then(ControlChoice::info).is_some_and(|info| info.wants_telemetry);
    if !asks {
        for key in ["telemetry", "telemetry_path"] {
            if let Some(control) = control.filter(|_| reader.has(key)) {
                let complaint = Complaint::new(
                    format!("`{key}` has no effect with congestion_control = \"{}\"", control.name()),
                    "it does not ask switches for reports",
                );
                reader.warn(key, complaint.help(format!("remove `{key}`")));
            }
            reader.out.remove(key);
        }
    }
    (scope, path)
}
