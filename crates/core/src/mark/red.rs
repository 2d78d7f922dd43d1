//! RED on the instantaneous queue length: the marking probability rises from `kmin` to `kmax`.

use super::watch::{AT, LENGTH, SCOPE, Watch};
use super::{Markable, MarkerInfo, Marking};
use crate::buffer::Buffer;
use crate::policy::SwitchShape;
use bufferlab_params::{
    BuildError, Fault, Faults, ParamInfo, ParamKind, ParamPlace, ParamValue, Params, TableInfo,
};
use bufferlab_units::RandomStream;
use bufferlab_units::quantity::format_size;

pub(super) static INFO: MarkerInfo = MarkerInfo {
    name: "red",
    title: "RED",
    summary: "A probability that rises from 0 at `kmin` to `pmax` at `kmax`, and is 1 above.",
    source: "Floyd and Jacobson, ToN 1993; on the instantaneous length as in Zhu et al., SIGCOMM 2015, Figure 5",
    params: &[
        SCOPE,
        AT,
        ParamInfo::computed(
            "kmin",
            LENGTH,
            "required without `by_priority`",
            "\"100 KB\"",
            "No mark up to this length.",
        ),
        ParamInfo::computed(
            "kmax",
            LENGTH,
            "required without `by_priority`",
            "\"400 KB\"",
            "Every packet above this length.",
        ),
        ParamInfo::with_default(
            "pmax",
            ParamKind::Ratio { min: 0.0, max: 1.0 },
            ParamValue::Ratio(1.0),
            "Probability at `kmax`.",
        ),
        ParamInfo::optional(
            "by_priority",
            ParamKind::Tables(&RAMP),
            "[{ kmin = \"50 KB\", kmax = \"200 KB\" }, { kmin = \"100 KB\", kmax = \"400 KB\" }]",
            "`kmin` and `kmax` of every priority, from 0, in their place; the last ones hold for all that follow.",
        ),
    ],
    check,
    build: &build,
    ..MarkerInfo::PLAIN
};

static RAMP: TableInfo = TableInfo {
    title: "an entry of switch.ecn.by_priority",
    doc: "Lengths at which the marking probability of a priority starts to rise and reaches `pmax`.",
    params: &[
        ParamInfo::required("kmin", LENGTH, "\"50 KB\"", "No mark up to this length."),
        ParamInfo::required("kmax", LENGTH, "\"200 KB\"", "Every packet above this length."),
    ],
};

fn check(params: &Params) -> Result<(), Faults> {
    let by_priority = params.tables("by_priority");
    if !params.has("by_priority") {
        if let Some(missing) = ["kmin", "kmax"].into_iter().find(|name| !params.has(name)) {
            let example = if missing == "kmin" { "\"100 KB\"" } else { "\"400 KB\"" };
            let fault = Fault::new(missing, format!("`{missing}` is missing"), "kind = \"red\" needs it");
            return Err(fault.help(format!("add {missing} = {example}")).into());
        }
        return ordered(params, ParamPlace::new);
    }
    if let Some(twice) = ["kmin", "kmax"].into_iter().find(|name| params.has(name)) {
        let fault = Fault::new(twice, format!("`{twice}` is given twice"), "so is it here");
        return Err(fault.also("by_priority", "and here").help(format!("remove `{twice}`")).into());
    }
    if by_priority.is_empty() {
        let fault =
            Fault::new("by_priority", "the list is empty", "expected an entry for priority 0 at least");
        return Err(fault.into());
    }
    by_priority.iter().enumerate().try_for_each(|(index, ramp)| {
        ordered(ramp, |key| ParamPlace::new("by_priority").element(index).key(key))
    })
}

/// Refuses a lower length `kmin` above the upper length `kmax`.
fn ordered(params: &Params, place: impl Fn(&'static str) -> ParamPlace) -> Result<(), Faults> {
    let (kmin, kmax) = (params.bytes("kmin"), params.bytes("kmax"));
    if kmin <= kmax {
        return Ok(());
    }
    let message = format!("kmin ({}) is above kmax ({})", format_size(kmin), format_size(kmax));
    let fault = Fault::new(place("kmin"), message, "expected at most kmax").also(place("kmax"), "kmax");
    Err(fault.help("lower kmin, or raise kmax").into())
}

fn build(params: &Params, shape: &SwitchShape) -> Result<Marking, BuildError> {
    let ramp = |params: &Params| Ramp { kmin: params.bytes("kmin"), kmax: params.bytes("kmax") };
    let by_priority: Vec<_> = params.tables("by_priority").iter().map(ramp).collect();
    let ramp = by_priority.first().copied().unwrap_or_else(|| ramp(params));
    let stream = RandomStream::new(shape.seed, "switch/marker", 0);
    Ok(Marking::Red(Red {
        watch: Watch::from_params(params),
        ramp,
        by_priority,
        pmax: params.ratio("pmax"),
        stream,
    }))
}

/// Range of queue lengths over which the marking probability rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Length up to which RED marks no packet (bytes).
    pub kmin: u64,
    /// Length above which RED marks every packet (bytes).
    pub kmax: u64,
}

/// Marks packets with a probability that rises with the queue length.
#[derive(Clone, Debug)]
pub struct Red {
    /// Queue or port length that the rule compares, and the moment of the comparison.
    pub watch: Watch,
    /// Range of queue lengths over which the marking probability rises.
    pub ramp: Ramp,
    /// Ranges of queue lengths by priority, if the priorities differ. The last range also applies
    /// to all further priorities. If the list is empty, `ramp` applies to all priorities.
    pub by_priority: Vec<Ramp>,
    /// Marking probability at the length `kmax`, 0..=1.
    /// The probability rises linearly from 0 at `kmin`.
    pub pmax: f64,
    /// Stream of random numbers, drawn only for lengths between `kmin` and `kmax`.
    stream: RandomStream,
}

impl Red {
    /// Whether RED marks `packet`.
    #[inline(never)] // Rarer than the plain step, which is inlined.
    pub fn marks(&mut self, packet: &Markable, buffer: &Buffer) -> bool {
        if self.watch.at != packet.moment {
            return false;
        }
        let length = self.watch.length(packet, buffer);
        let own = self.by_priority.get(usize::from(packet.priority)).or(self.by_priority.last());
        let Ramp { kmin, kmax } = *own.unwrap_or(&self.ramp);
        if length <= kmin {
            return false;
        }
        if length > kmax {
            return true;
        }
        let p = self.pmax * (length - kmin) as f64 / (kmax - kmin) as f64;
        self.stream.next_f64() < p
    }

    /// Length up to which the rule marks no packet: [`super::MarkingRule::least_length`].
    pub(super) fn least_length(&self) -> u64 {
        self.by_priority.iter().map(|ramp| ramp.kmin).min().unwrap_or(self.ramp.kmin)
    }
}
