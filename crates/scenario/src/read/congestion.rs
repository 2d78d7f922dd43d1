//! `[[transport]]`: the parameters that only some congestion controls have.

use crate::context::Complaint;
use crate::model::{HpccSpec, InitialWindow, PowerTcpSpec, TimelySpec};
use crate::reader::Reader;
use crate::resolved::{float, quote};
use bufferlab_core::Profile;
use bufferlab_transport::{HyStart, UNRESPONSIVE, find_congestion_control};
use bufferlab_units::{BitRate, Time};

/// Parameters of all congestion controls; those that do not matter have their defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlSpec {
    pub(crate) base_rtt: Option<Time>,
    pub(crate) cubic_hystart: HyStart,
    pub(crate) timely: TimelySpec,
    pub(crate) swift_target: Option<Time>,
    pub(crate) hpcc: HpccSpec,
    pub(crate) powertcp: PowerTcpSpec,
}

/// A key, and the congestion controls that have it.
const KEYS: &[(&str, &[&str])] = &[
    ("cubic_hystart", &["cubic"]),
    ("timely_low", &["timely"]),
    ("timely_high", &["timely"]),
    ("timely_increment", &["timely"]),
    ("timely_fast_increment", &["timely"]),
    ("swift_target", &["swift"]),
    ("hpcc_utilisation", &["hpcc"]),
    ("hpcc_max_stage", &["hpcc"]),
    ("hpcc_flows", &["hpcc"]),
    ("powertcp_gamma", &["powertcp", "theta-powertcp"]),
    ("powertcp_flows", &["powertcp", "theta-powertcp"]),
];

/// Reads them; `None` if one that was written is wrong.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    congestion_control: Option<&str>,
    initial_window: Option<InitialWindow>,
    profile: Profile,
) -> Option<ControlSpec> {
    let is_artifact = profile == Profile::Artifact;
    let base_rtt = reader.time("base_rtt");
    let hystart = match reader.word("cubic_hystart") {
        Some("off") => HyStart::Off,
        Some("rfc9406") => HyStart::Rfc9406,
        Some(_) => HyStart::Classic,
        None if is_artifact => HyStart::Classic,
        None => HyStart::Rfc9406,
    };
    reader.out.set("cubic_hystart", quote(hystart.name()));
    let low = if is_artifact { Time::from_us(200) } else { Time::from_us(50) };
    let low = reader.time_or("timely_low", Some(low));
    let high = reader.time_or("timely_high", Some(Time::from_us(500)));
    let increment = reader.rate_or("timely_increment", is_artifact.then_some(BitRate::mbps(100)));
    let fast_increment = reader.rate_or("timely_fast_increment", is_artifact.then_some(BitRate::mbps(150)));
    let swift_target = reader.time("swift_target");
    let spec = ControlSpec {
        base_rtt,
        cubic_hystart: hystart,
        timely: TimelySpec { low: low?, high: high?, increment, fast_increment },
        swift_target,
        hpcc: HpccSpec {
            utilisation: ratio_or(reader, "hpcc_utilisation", 0.95),
            max_stage: count_or(reader, "hpcc_max_stage", 5),
            flows: count_or(reader, "hpcc_flows", 100),
        },
        powertcp: PowerTcpSpec {
            gamma: ratio_or(reader, "powertcp_gamma", 0.9),
            flows: count_or(reader, "powertcp_flows", if is_artifact { 100 } else { 10 }),
        },
    };
    if congestion_control == Some("timely") && spec.timely.low > spec.timely.high {
        let complaint =
            Complaint::new("`timely_low` is above `timely_high`", "expected at most `timely_high`");
        reader.error(
            "timely_low",
            complaint.help("below the first the rate always grows, above the second it always falls"),
        );
    }
    leave_out_foreign(reader, congestion_control, initial_window);
    Some(spec)
}

fn ratio_or(reader: &mut Reader<'_>, key: &'static str, computed: f64) -> f64 {
    let value = reader.ratio(key).unwrap_or(computed);
    reader.out.set(key, float(value));
    value
}

fn count_or(reader: &mut Reader<'_>, key: &'static str, computed: u32) -> u32 {
    let value = reader.small_count(key).unwrap_or(computed);
    reader.out.set(key, value.to_string());
    value
}

/// Keys of other congestion controls are left out of the resolved scenario, with a warning where written.
fn leave_out_foreign(
    reader: &mut Reader<'_>,
    congestion_control: Option<&str>,
    initial_window: Option<InitialWindow>,
) {
    let Some(name) = congestion_control else { return };
    let mut leave_out = |key: &str, owners: &str| {
        if reader.has(key) {
            let complaint = Complaint::new(
                format!("`{key}` has no effect with congestion_control = \"{name}\""),
                format!("it belongs to {owners}"),
            );
            reader.warn(key, complaint.help(format!("remove `{key}`")));
        }
        reader.out.remove(key);
    };
    for (key, owners) in KEYS {
        if !owners.contains(&name) {
            leave_out(key, &owners.join(", "));
        }
    }
    let uses_base = find_congestion_control(name).is_some_and(|info| info.governs_window)
        || initial_window == Some(InitialWindow::BandwidthDelay);
    if !uses_base || name == UNRESPONSIVE {
        leave_out("base_rtt", "controls that set a rate, and to initial_window = \"bdp\"");
    }
}
