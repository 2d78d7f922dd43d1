//! The runs of bufferlab that are compared with runs of the ns-3 reference.

use crate::ValidationError;
use crate::measure::Outcome;
use crate::reference::{LOSSLESS, RunKey, folder};
use std::path::Path;

/// A scenario of bufferlab, paired with a run of the ns-3 reference.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Short name of the compared scenario, as in [`crate::explained::EXPLAINED`].
    pub name: &'static str,
    /// Name of the scenario file in `scenarios/`.
    pub scenario: &'static str,
    /// Registry name of the policy that the scenario's switches run.
    pub policy: &'static str,
    /// Changed keys of the scenario file and their new values, as for `--set`.
    pub changes: &'static [(&'static str, &'static str)],
    /// Key of the ns-3 reference's run that is compared with the scenario.
    pub key: RunKey,
}

/// A pair of names: a policy in bufferlab and in the ns-3 reference, or a traffic pattern and its
/// load or request size.
type Pair = (&'static str, &'static str);
/// Changed keys of a scenario and their new values, as for `--set`.
type Changes = &'static [(&'static str, &'static str)];

const DT: Pair = ("dt", "DT");
const ABM: Pair = ("abm", "ABM");
const QUARTER: Pair = ("L0.0001_R0.25_Q1_W0.2", "0.25");
const HALF: Pair = ("L0.0001_R0.5_Q1_W0.2", "0.5");
const THREE_QUARTERS: Pair = ("L0.0001_R0.75_Q1_W0.2", "0.75");

const AS_WRITTEN: Changes = &[];
const CUBIC: Changes = &[("transport.0.congestion_control", "cubic")];
/// Changes that select PowerTCP with the ns-3 artifact's fixed base RTT. The fixed RTT replaces the
/// default: the longest round-trip time of a full segment.
const POWERTCP: Changes =
    &[("transport.0.congestion_control", "powertcp"), ("transport.0.base_rtt", "80 us")];
const THETA_POWERTCP: Changes =
    &[("transport.0.congestion_control", "theta-powertcp"), ("transport.0.base_rtt", "80 us")];
const TIMELY: Changes = &[("transport.0.congestion_control", "timely"), ("transport.0.base_rtt", "80 us")];

/// A transport: its name in the ns-3 reference, and the scenario keys that select the transport.
type Transport = (&'static str, Changes);
const WITH_DCTCP: Transport = ("dctcp", AS_WRITTEN);
const WITH_CUBIC: Transport = ("cubic", CUBIC);

const fn incast(name: &'static str, policy: Pair, (transport, changes): Transport, traffic: Pair) -> Case {
    let key = RunKey {
        variant: "clean",
        policy: policy.1,
        transport,
        traffic: traffic.0,
        load: "0.0001",
        request: traffic.1,
    };
    Case { name, scenario: "artifact-incast.toml", policy: policy.0, changes, key }
}

const fn unloaded(name: &'static str, transport: &'static str, changes: Changes) -> Case {
    let traffic = "L0.005_R0_Q0_W1";
    let key = RunKey { variant: "asis", policy: "DT", transport, traffic, load: "0.005", request: "0.0" };
    Case { name, scenario: "artifact-unloaded.toml", policy: "dt", changes, key }
}

/// Traffic name and load of the ns-3 reference's runs with web search and incast.
const FOUR_TENTHS: Pair = ("L0.4_R0.5_Q15_W0.06", "0.4");
const EIGHT_TENTHS: Pair = ("L0.8_R0.5_Q15_W0.06", "0.8");

/// Changes that replace Cubic by DCTCP with ECN marking.
const LOADED_DCTCP: Changes = &[
    ("transport.0.congestion_control", "dctcp"),
    ("transport.1.congestion_control", "dctcp"),
    ("switch.ecn", "{ kind = \"step\", threshold = \"89747 B\" }"),
];
const LOADED_WITH_CUBIC: Transport = ("cubic", AS_WRITTEN);
const LOADED_WITH_DCTCP: Transport = ("dctcp", LOADED_DCTCP);

const fn loaded(name: &'static str, policy: Pair, (transport, changes): Transport, traffic: Pair) -> Case {
    let (traffic, load) = traffic;
    let key = RunKey { variant: "clean", policy: policy.1, transport, traffic, load, request: "0.5" };
    Case { name, scenario: "artifact-loaded.toml", policy: policy.0, changes, key }
}

/// DT with the ns-3 artifact's headroom: 18,456 B for each of two priorities on 20 ports.
const SONIC_DT: Pair =
    ("{ name = \"sonic-dt\", headroom = \"18456 B\", headroom_pool = \"738240 B\" }", "DT");
/// ABM in SONiC's buffer pools. ABM updates its factors once per longest round-trip time.
const SONIC_ABM: Pair = (
    "{ name = \"sonic-abm\", update_interval = \"17.28 us\", headroom = \"18456 B\", headroom_pool = \"738240 B\" }",
    "ABM",
);
const REVERIE: Pair =
    ("{ name = \"reverie\", headroom = \"18456 B\", headroom_pool = \"738240 B\" }", "REVERIE");

/// A scenario, the changed keys of the scenario, and the ns-3 reference's names of the RDMA
/// transport and of the traffic.
type Evaluation = (&'static str, Changes, &'static str, &'static str);
const WITH_TCP: Evaluation = ("artifact-reverie.toml", AS_WRITTEN, "dcqcn", "S1");
/// Changes that replace DCQCN by PowerTCP. The frames of PowerTCP are longer because of telemetry:
/// see `artifact-reverie-rdma.toml`.
const POWERTCP_OVER_RDMA: Changes = &[
    ("transport.0.congestion_control", "{ name = \"powertcp\", flows = 167 }"),
    ("transport.0.base_rtt", "17.28 us"),
    ("transport.0.header_bytes", "90 B"),
    ("transport.0.ack_bytes", "88 B"),
];
const POWERTCP_WITH_TCP: Evaluation = ("artifact-reverie.toml", POWERTCP_OVER_RDMA, "powertcp", "S1");
const RDMA_ALONE: Evaluation = ("artifact-reverie-rdma.toml", AS_WRITTEN, "powertcp", "S3");
const TCP_INCASTS: Evaluation = ("artifact-reverie-incast.toml", AS_WRITTEN, "dcqcn", "S4");

const fn lossless(
    name: &'static str,
    policy: Pair,
    (scenario, changes, transport, traffic): Evaluation,
) -> Case {
    let key = RunKey { variant: LOSSLESS, policy: policy.1, transport, traffic, load: "", request: "" };
    Case { name, scenario, policy: policy.0, changes, key }
}

/// All cases of bufferlab that are compared with the ns-3 reference.
pub const CASES: &[Case] = &[
    incast("DT, R = 0.25", DT, WITH_DCTCP, QUARTER),
    incast("ABM, R = 0.25", ABM, WITH_DCTCP, QUARTER),
    incast("ABM, R = 0.5", ABM, WITH_DCTCP, HALF),
    incast("ABM, R = 0.75", ABM, WITH_DCTCP, THREE_QUARTERS),
    incast("DT, R = 0.5", DT, WITH_DCTCP, HALF),
    incast("DT, R = 0.75", DT, WITH_DCTCP, THREE_QUARTERS),
    incast("Cubic, DT, R = 0.25", DT, WITH_CUBIC, QUARTER),
    incast("Cubic, ABM, R = 0.25", ABM, WITH_CUBIC, QUARTER),
    incast("Cubic, ABM, R = 0.5", ABM, WITH_CUBIC, HALF),
    incast("Cubic, ABM, R = 0.75", ABM, WITH_CUBIC, THREE_QUARTERS),
    incast("Cubic, DT, R = 0.5", DT, WITH_CUBIC, HALF),
    incast("Cubic, DT, R = 0.75", DT, WITH_CUBIC, THREE_QUARTERS),
    loaded("Cubic, DT, load 0.8", DT, LOADED_WITH_CUBIC, EIGHT_TENTHS),
    loaded("Cubic, ABM, load 0.8", ABM, LOADED_WITH_CUBIC, EIGHT_TENTHS),
    loaded("Cubic, DT, load 0.4", DT, LOADED_WITH_CUBIC, FOUR_TENTHS),
    loaded("Cubic, ABM, load 0.4", ABM, LOADED_WITH_CUBIC, FOUR_TENTHS),
    loaded("DT, load 0.4", DT, LOADED_WITH_DCTCP, FOUR_TENTHS),
    loaded("ABM, load 0.4", ABM, LOADED_WITH_DCTCP, FOUR_TENTHS),
    unloaded("unloaded", "dctcp", AS_WRITTEN),
    unloaded("unloaded, Cubic", "cubic", CUBIC),
    unloaded("unloaded, PowerTCP", "powertcp", POWERTCP),
    unloaded("unloaded, θ-PowerTCP", "thetapowertcp", THETA_POWERTCP),
    unloaded("unloaded, TIMELY", "timely", TIMELY),
    lossless("DCQCN and Cubic, DT", SONIC_DT, WITH_TCP),
    lossless("DCQCN and Cubic, ABM", SONIC_ABM, WITH_TCP),
    lossless("DCQCN and Cubic, Reverie", REVERIE, WITH_TCP),
    lossless("PowerTCP, DT", SONIC_DT, RDMA_ALONE),
    lossless("PowerTCP, ABM", SONIC_ABM, RDMA_ALONE),
    lossless("PowerTCP, Reverie", REVERIE, RDMA_ALONE),
    lossless("PowerTCP and Cubic, DT", SONIC_DT, POWERTCP_WITH_TCP),
    lossless("PowerTCP and Cubic, ABM", SONIC_ABM, POWERTCP_WITH_TCP),
    lossless("PowerTCP and Cubic, Reverie", REVERIE, POWERTCP_WITH_TCP),
    lossless("TCP incasts, DT", SONIC_DT, TCP_INCASTS),
    lossless("TCP incasts, ABM", SONIC_ABM, TCP_INCASTS),
    lossless("TCP incasts, Reverie", REVERIE, TCP_INCASTS),
];

impl Case {
    /// Runs the compared scenario in bufferlab.
    ///
    /// # Errors
    /// If the scenario cannot be loaded or the run fails.
    pub fn run(&self) -> Result<Outcome, ValidationError> {
        self.run_with(&[])
    }

    /// Runs the compared scenario in bufferlab with further changed keys; keys and values are as
    /// for `--set`.
    ///
    /// # Errors
    /// The errors of [`Self::run`].
    pub fn run_with(&self, more: &[(&'static str, String)]) -> Result<Outcome, ValidationError> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(self.scenario);
        let mut changes = vec![("switch.policy", self.policy.to_owned())];
        let lists = self.flow_lists().map(|list| folder().join(list).display().to_string());
        let keys = ["workload.0.file", "workload.1.file"];
        changes.extend(keys.into_iter().zip(lists));
        changes.extend(self.changes.iter().map(|&(key, value)| (key, value.to_owned())));
        changes.extend_from_slice(more);
        let overrides: Vec<_> = changes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let loaded = bufferlab_scenario::load(&path, &overrides)
            .map_err(|error| ValidationError::Scenario(format!("{error:?}")))?;
        Outcome::measure(&loaded.scenario)
    }

    /// Duration in which flows start (ns), from the suffix `W...` of the traffic's name.
    pub(crate) fn launch_ns(&self) -> Option<u64> {
        let (_, seconds) = self.key.traffic.rsplit_once('W')?;
        Some((seconds.parse::<f64>().ok()? * 1e9) as u64)
    }

    /// Whether the case is from Reverie's evaluation. Every other case is from ABM's evaluation.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.key.variant == LOSSLESS
    }

    /// Returns the names of the ns-3 reference's flow lists, one per workload of the scenario.
    fn flow_lists(&self) -> impl Iterator<Item = String> {
        let traffic = self.key.traffic;
        let parts: &[_] = match self.scenario {
            "artifact-loaded.toml" => &["_websearch", "_incast"],
            // The scenarios of Reverie's evaluation already name their flow lists.
            _ if self.is_lossless() => &[],
            _ => &[""],
        };
        parts.iter().map(move |part| format!("flows_{traffic}{part}.csv.gz"))
    }
}
