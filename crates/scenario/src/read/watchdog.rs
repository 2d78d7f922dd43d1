//! Reads `[switch.pfc.watchdog]`: the detector of pause storms.

use crate::context::{Complaint, Context};
use crate::format::WatchdogKeys;
use crate::model::{WatchdogRule, WatchdogSpec};
use crate::quantity::format_time;
use crate::reader::Reader;
use crate::tree::Origin;
use bufferlab_units::Time;

/// SONiC's detection time for every 32 ports or part of 32 ports.
const DETECTION_PER_32_PORTS: Time = Time::from_ms(200);
/// Longest interval between two polls in SONiC.
const POLL_MAX: Time = Time::from_ms(1_000);

/// Value of the watchdog's table. Times that the file lacks depend on the number of ports.
#[derive(Clone, Debug)]
pub(crate) struct WatchdogChoice {
    keys: WatchdogKeys,
    poll_origin: Origin,
}

/// Reads the table `watchdog` below `[switch.pfc]`. `Some(None)` means that the table is absent or
/// switched off. `repeated` is whether the switch repeats its own pauses.
pub(crate) fn read(pfc: &mut Reader<'_>, repeated: bool) -> Option<Option<WatchdogChoice>> {
    pfc.spec_of("watchdog");
    if !pfc.has("watchdog") {
        return Some(None);
    }
    let mut reader = pfc.table("watchdog")?;
    let (keys, poll_origin) = (WatchdogKeys::read(&mut reader), reader.place("poll_interval"));
    if keys.enabled == Some(true) && keys.rule == Some(WatchdogRule::Broadcom) && !repeated {
        let complaint = Complaint::new(
            "the rule \"broadcom\" counts pause frames, and without `quanta` a frame is sent once",
            "never sees a deadlock",
        );
        reader.warn("rule", complaint.help("set quanta in [switch.pfc], or rule = \"mellanox\""));
    }
    pfc.put("watchdog", reader.finish());
    Some(keys.enabled?.then_some(WatchdogChoice { keys, poll_origin }))
}

impl WatchdogChoice {
    /// Returns the watchdog for a switch with `ports` ports. The context records an error if the
    /// watchdog does not fit the switch.
    pub(crate) fn spec(&self, context: &Context, path: &str, ports: usize) -> Option<WatchdogSpec> {
        let keys = &self.keys;
        let by_ports = Time(DETECTION_PER_32_PORTS.0 * ports.div_ceil(32).max(1) as u64);
        let detection = keys.detection_time.unwrap_or(by_ports);
        let restoration = keys.restoration_time.unwrap_or(detection);
        let longest = detection.min(restoration).min(POLL_MAX);
        let poll = keys.poll_interval.unwrap_or(longest);
        if poll > longest {
            let complaint = Complaint::new(
                format!("the watchdog would look every {} only", format_time(poll)),
                format!("expected at most {}", format_time(longest)),
            );
            let help = "at most detection_time, restoration_time and 1 s: it must not sleep through a storm";
            context.error(
                &format!("{path}.pfc.watchdog.poll_interval"),
                self.poll_origin,
                complaint.help(help),
            );
            return None;
        }
        let counts = keys.counts.unwrap_or_default();
        Some(WatchdogSpec { rule: keys.rule?, action: keys.action?, detection, restoration, poll, counts })
    }
}
