//! Workload of sources that alternate between silence and bursts.

use super::parts::{
    OTHER_RACK_WITHOUT_PAIRS, PARETO_SHAPE, burst_kind, durations, paced, pareto_shape, pattern, scatter,
    warn_about_uplinks,
};
use crate::context::{Carrier, WorkloadContext};
use crate::traffic::TrafficBuilder;
use crate::workload::{Workload, WorkloadInfo};
use crate::{BurstKind, Durations, OnOffParams, OnOffPartners, OnOffSource, Pattern, SourceError};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamPlace, Params, TableInfo};
use bufferlab_units::Time;
use bufferlab_units::quantity::format_time;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "on_off",
    aliases: &[],
    title: "On-off bursts",
    summary: "Every source alternates between silence and a burst at its transport's `rate`. A burst is one flow of \
              whole packets. The transport must have congestion_control = \"none\".",
    source: "",
    params: PARAMS,
    build: &build,
};

const ON_DISTRIBUTION: ParamInfo = scatter(
    "on_distribution",
    "Distribution of the lengths of bursts. Default: our choice, the usual on-off source.",
);

const PARAMS: &[ParamInfo] = &[
    ParamInfo::optional(
        "pairs",
        ParamKind::Pairs { of: "hosts" },
        "[[\"h8\", \"h0\"], [\"h9\", \"h1\"]]",
        "Sources, each from one host to another. Alternative to `pattern`.",
    ),
    pattern(
        OTHER_RACK_WITHOUT_PAIRS,
        "\"all_to_all\"",
        "Receivers if every host is a source; each burst draws its receiver.",
    ),
    ParamInfo::required("on_time", ParamKind::SPAN, "\"250 us\"", "Mean length of a burst."),
    ON_DISTRIBUTION,
    ParamInfo::required(
        "off_time",
        ParamKind::SPAN,
        "\"19.75 ms\"",
        "Mean length of the silence between two bursts of a source.",
    ),
    scatter(
        "off_distribution",
        "Distribution of the lengths of silence. Default: our choice, the usual on-off source.",
    ),
    PARETO_SHAPE,
    ParamInfo::optional(
        "others",
        ParamKind::Tables(&OTHER_BURST),
        "[{ class = \"long\", transport = \"long\", share = 0.1, on_time = \"100 ms\" }]",
        "Other kinds of bursts, which the same sources sometimes send instead.",
    ),
];

static OTHER_BURST: TableInfo = TableInfo {
    title: "an entry of workload.others",
    doc: "A kind of burst that an on-off source sometimes sends instead of its main kind.",
    params: &[
        ParamInfo::required(
            "class",
            ParamKind::Text,
            "\"long\"",
            "Class name of the bursts in tables and reports.",
        ),
        ParamInfo::computed(
            "transport",
            ParamKind::Text,
            "the only entry",
            "\"long\"",
            "Name of the [[transport]] of these bursts.",
        ),
        ParamInfo::required(
            "share",
            ParamKind::RatioAbove { min: 0.0, max: 1.0 },
            "0.1",
            "Fraction of the bursts that are of this kind.",
        ),
        ParamInfo::required("on_time", ParamKind::SPAN, "\"100 ms\"", "Mean length of a burst of this kind."),
        ON_DISTRIBUTION,
        PARETO_SHAPE,
    ],
};

#[derive(Debug)]
struct OnOff {
    between: Between,
    own: BurstKind,
    others: Vec<OtherBurst>,
    off: Durations,
}

/// Senders and receivers of the bursts.
#[derive(Debug)]
enum Between {
    /// Every pair (from, to) of hosts is an on-off source.
    Pairs(Vec<(u32, u32)>),
    /// Every host is a source and draws a partner for every burst.
    Pattern(Pattern),
}

/// A kind of burst that sources sometimes send instead of the main kind.
#[derive(Debug)]
struct OtherBurst {
    class: String,
    transport: u32,
    kind: BurstKind,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let between = between(params, context)?;
    let shape = pareto_shape(params, context, &["on_distribution", "off_distribution"], ParamPlace::new);
    let on = durations(params, "on_time", "on_distribution", shape);
    let off = durations(params, "off_time", "off_distribution", shape);
    let carrier = paced(context.transport()?, ParamPlace::new("transport"))?;
    let others = others(params, context)?;
    check_uplinks(context, carrier, &between)?;
    let share: f64 = others.iter().map(|other| other.kind.weight).sum();
    if share >= 1.0 {
        let message = format!("the shares of other bursts add up to {share}");
        let fault = Fault::new("others", message, format!("nothing is left for \"{}\"", context.class()));
        return Err(fault.help("expected a sum below 1").into());
    }
    let on_off = OnOff { between, own: burst_kind(carrier, 1.0 - share, on), others, off };
    on_off.check(context, params.has("pairs"))?;
    Ok(Box::new(on_off))
}

fn between(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Between, Faults> {
    if !params.has("pairs") {
        return context.pattern(params).map(Between::Pattern);
    }
    if params.has("pattern") {
        let fault = Fault::new("pattern", "the partners are given twice", "so are they here");
        return Err(fault.also("pairs", "and here").help("remove `pairs` or `pattern`").into());
    }
    let place = |index, end| ParamPlace::new("pairs").element(index).inner(end);
    let pairs = params.pairs("pairs").iter().enumerate();
    let pairs = pairs.map(|(index, (from, to))| {
        Ok((context.host(place(index, 0), from)?, context.host(place(index, 1), to)?))
    });
    pairs.collect::<Result<_, Faults>>().map(Between::Pairs)
}

fn others(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Vec<OtherBurst>, Faults> {
    let tables = params.tables_mut("others").iter_mut().enumerate();
    let burst = |(index, table): (usize, &mut Params)| {
        let place = ParamPlace::new("others").element(index);
        let carrier = context.transport_of(table, place)?;
        let shape = pareto_shape(table, context, &["on_distribution"], |key| place.key(key));
        let on = durations(table, "on_time", "on_distribution", shape);
        let carrier = paced(carrier, place.key("transport"))?;
        let kind = burst_kind(carrier, table.ratio("share"), on);
        Ok(OtherBurst { class: table.text("class").to_owned(), transport: carrier.index, kind })
    };
    tables.map(burst).collect()
}

fn check_uplinks(context: &WorkloadContext<'_>, carrier: &Carrier, between: &Between) -> Result<(), Faults> {
    match between {
        Between::Pairs(pairs) => warn_about_uplinks(context, carrier, pairs.iter().map(|&(src, _)| src)),
        Between::Pattern(_) => {
            warn_about_uplinks(context, carrier, 0..context.network()?.hosts.len() as u32);
        }
    }
    Ok(())
}

impl OnOff {
    /// Builds the source as a trial, and reports an error of the source
    /// at the parameter in question.
    fn check(&self, context: &WorkloadContext<'_>, has_pairs: bool) -> Result<(), Faults> {
        let (network, end) = (context.network()?, context.duration()?);
        let kinds = std::iter::once(self.own).chain(self.others.iter().map(|other| other.kind)).collect();
        let Err(error) = self.source(context.seed(), context.class(), &network.racks(), kinds, end) else {
            return Ok(());
        };
        let name = |host: u32| &network.hosts[host as usize];
        let message = match error {
            SourceError::SelfPair { host } => format!("host \"{}\" would send to itself", name(host)),
            SourceError::PairTwice { src, dst } => {
                format!("the pair from \"{}\" to \"{}\" is listed twice", name(src), name(dst))
            }
            other => other.to_string(),
        };
        let fault = Fault::new(if has_pairs { "pairs" } else { "pattern" }, message, "these sources");
        Err(fault.help("name every source once, from one host to another").into())
    }

    fn source(
        &self,
        seed: u64,
        label: &str,
        racks: &[Vec<u32>],
        kinds: Vec<BurstKind>,
        end: Time,
    ) -> Result<OnOffSource, SourceError> {
        let partners = match &self.between {
            Between::Pairs(pairs) => OnOffPartners::Pairs(pairs),
            Between::Pattern(pattern) => OnOffPartners::Pattern { racks, pattern: *pattern },
        };
        OnOffSource::new(OnOffParams { seed, label, partners, kinds, off: self.off, end })
    }
}

impl Workload for OnOff {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let mut kinds = vec![BurstKind { class: traffic.class(), ..self.own }];
        for other in &self.others {
            let class = traffic.class_over(&other.class, other.transport);
            kinds.push(BurstKind { class, ..other.kind });
        }
        let source = self.source(traffic.seed(), traffic.label(), traffic.racks(), kinds, traffic.end())?;
        traffic.add_source(source);
        Ok(())
    }

    fn in_words(&self) -> String {
        let (on, off) = (self.own.on, self.off);
        format!(
            "bursts of {} on average ({}), every {} ({}) of a source",
            format_time(on.mean),
            on.shape.name(),
            format_time(off.mean),
            off.shape.name()
        )
    }

    fn other_classes(&self) -> Vec<&str> {
        self.others.iter().map(|other| other.class.as_str()).collect()
    }
}
