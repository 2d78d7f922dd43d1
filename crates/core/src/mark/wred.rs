//! WRED as switches configure it: for every queue, a range of lengths over which the probability of
//! a mark or drop rises. WRED marks ECN-capable packets and drops others, or drops all packets that
//! it chooses.

use super::red::Ramp;
use super::watch::{AT, LENGTH, SCOPE, Watch};
use super::{Markable, MarkerInfo, Marking, Moment};
use crate::buffer::Buffer;
use crate::header::Ecn;
use crate::policy::SwitchShape;
use bufferlab_params::{
    BuildError, Choice, Fault, Faults, ParamInfo, ParamKind, ParamPlace, ParamValue, Params, TableInfo,
    choices,
};
use bufferlab_units::RandomStream;
use bufferlab_units::quantity::format_size;

/// Registry entry of the marking rule `wred`.
pub(super) static INFO: MarkerInfo = MarkerInfo {
    name: "wred",
    title: "WRED",
    summary: "RED with a ramp and a probability for every queue; packets that cannot be marked are dropped on arrival.",
    source: "OCP SAI, saiwred.h, for packets of one colour; Floyd and Jacobson, ToN 1993",
    params: &[
        SCOPE,
        AT,
        ParamInfo::required(
            "profiles",
            ParamKind::Tables(&PROFILE),
            "[{ priorities = [0], kmin = \"100 KB\", kmax = \"400 KB\", effect = \"drop\" }]",
            "Ramps of queues. The last one that covers a queue applies; a queue without one is never marked.",
        ),
    ],
    check,
    build: &build,
    ..MarkerInfo::PLAIN
};

static PROFILE: TableInfo = TableInfo {
    title: "an entry of switch.ecn.profiles",
    doc: "A ramp for some queues.",
    params: &[
        ParamInfo::optional(
            "ports",
            ParamKind::List(&ParamKind::Count { min: 0, max: u16::MAX as u64 }),
            "[0, 1]",
            "Ports of the queues; without it, all.",
        ),
        ParamInfo::optional(
            "priorities",
            ParamKind::List(&ParamKind::Count { min: 0, max: 31 }),
            "[3, 4]",
            "Queues within the ports; without it, all.",
        ),
        ParamInfo::required("kmin", LENGTH, "\"50 KB\"", "No mark or drop up to this length."),
        ParamInfo::required("kmax", LENGTH, "\"200 KB\"", "Every packet above this length."),
        ParamInfo::with_default(
            "pmax",
            ParamKind::Ratio { min: 0.0, max: 1.0 },
            ParamValue::Ratio(1.0),
            "Probability at `kmax`.",
        ),
        ParamInfo::with_default(
            "effect",
            ParamKind::Choice(Effect::WORDS),
            ParamValue::word("mark"),
            "Effect on the chosen packets.",
        ),
    ],
};

choices! {
    /// Effect of WRED on the packets that it chooses.
    #[derive(Default)]
    pub enum Effect {
        #[default]
        Mark = "mark": "ECN-capable packets are marked, others are dropped",
        Drop = "drop": "all are dropped (ECN off)",
    }
}

fn check(params: &Params) -> Result<(), Faults> {
    for (index, profile) in params.tables("profiles").iter().enumerate() {
        let (kmin, kmax) = (profile.bytes("kmin"), profile.bytes("kmax"));
        if kmin > kmax {
            let place = |key: &'static str| ParamPlace::new("profiles").element(index).key(key);
            let message = format!("kmin ({}) is above kmax ({})", format_size(kmin), format_size(kmax));
            let fault =
                Fault::new(place("kmin"), message, "expected at most kmax").also(place("kmax"), "kmax");
            return Err(fault.help("lower kmin, or raise kmax").into());
        }
    }
    Ok(())
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Marking, BuildError> {
    let (ports, queues) = (shape.ports(), shape.queues_per_port);
    let mut ramps = vec![None; ports * queues];
    for profile in params.tables("profiles") {
        let listed = |name: &'static str, number: usize| {
            let all: Vec<usize> = match profile.has(name) {
                true => profile.counts(name).into_iter().map(|one| one as usize).collect(),
                false => (0..number).collect(),
            };
            match all.iter().find(|&&one| one >= number) {
                None => Ok(all),
                Some(one) => {
                    let message = format!("{name}: there is no {one}; the switch has {number} of them");
                    Err(BuildError { param: "profiles", message })
                }
            }
        };
        let ramp = WredRamp {
            ramp: Ramp { kmin: profile.bytes("kmin"), kmax: profile.bytes("kmax") },
            pmax: profile.ratio("pmax"),
            effect: profile.choice("effect"),
        };
        for (port, priority) in pairs(&listed("ports", ports)?, &listed("priorities", queues)?) {
            ramps[port * queues + priority] = Some(ramp);
        }
    }
    Ok(Marking::Wred(Box::new(Wred {
        watch: Watch::from_params(params),
        ramps,
        stream: RandomStream::new(shape.seed, "switch/wred", 0),
    })))
}

fn pairs(ports: &[usize], priorities: &[usize]) -> Vec<(usize, usize)> {
    ports.iter().flat_map(|&port| priorities.iter().map(move |&priority| (port, priority))).collect()
}

/// Settings of WRED for one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WredRamp {
    /// Range of lengths over which the probability of a mark or drop rises.
    pub ramp: Ramp,
    /// Probability of a mark or drop when the length reaches `kmax`, 0..=1.
    pub pmax: f64,
    /// Whether WRED marks or drops the packets of this queue that it chooses.
    pub effect: Effect,
}

/// Marks or drops packets with a probability that rises with the queue length.
#[derive(Clone, Debug)]
pub struct Wred {
    /// Queue or port length that WRED compares, and the moment at which WRED marks. WRED always
    /// decides drops on arrival.
    pub watch: Watch,
    /// Settings of WRED for each queue of the switch. `None` if WRED neither marks nor drops
    /// packets of the queue.
    pub ramps: Vec<Option<WredRamp>>,
    /// Stream of random numbers, drawn only for queue lengths between `kmin` and `kmax`.
    stream: RandomStream,
}

impl Wred {
    /// Whether WRED marks `packet` at this moment.
    #[inline(never)] // Rarer than the plain step, which is inlined.
    pub fn marks(&mut self, packet: &Markable, buffer: &Buffer) -> bool {
        self.watch.at == packet.moment && self.chooses(packet, buffer, Effect::Mark)
    }

    /// Whether the arriving `packet` is dropped instead of stored. WRED drops packets without ECN,
    /// and all chosen packets if the effect is to drop.
    pub fn drops(&mut self, packet: &Markable, buffer: &Buffer) -> bool {
        let Some(Some(own)) = self.ramps.get(usize::from(packet.queue.0)) else { return false };
        let effect = own.effect;
        let may_drop = effect == Effect::Drop || packet.header.ecn == Ecn::NotCapable;
        may_drop && packet.moment == Moment::Enqueue && self.chooses(packet, buffer, effect)
    }

    /// Whether WRED marks or drops the packet, if the settings of its queue have this `effect`.
    fn chooses(&mut self, packet: &Markable, buffer: &Buffer, effect: Effect) -> bool {
        let own = self.ramps.get(usize::from(packet.queue.0)).copied().flatten();
        let Some(WredRamp { ramp: Ramp { kmin, kmax }, pmax, .. }) = own.filter(|own| own.effect == effect)
        else {
            return false;
        };
        let length = self.watch.length(packet, buffer);
        if length <= kmin {
            return false;
        }
        length > kmax || self.stream.next_f64() < pmax * (length - kmin) as f64 / (kmax - kmin) as f64
    }

    /// Length up to which no packet is marked or dropped: [`super::MarkingRule::least_length`].
    pub(super) fn least_length(&self) -> u64 {
        self.ramps.iter().flatten().map(|own| own.ramp.kmin).min().unwrap_or(u64::MAX)
    }
}
