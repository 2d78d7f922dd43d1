//! The format of experiment files as data: every table, key, kind, default and explanation in one
//! module.
//!
//! The reader of experiments uses these declarations. The JSON Schema and the reference in
//! `docs/reference/experiments.md` are generated from these declarations.

use crate::{Better, GoodputOf, OverSeeds, Quantity, QueueCount, Sampled, Take};
use bufferlab_core::schedule::MAX_QUEUES_PER_PORT;
use bufferlab_document::spec::{KeySpec, Kind, TableSpec, computed, default, optional, required};
use bufferlab_params::{Card, Catalog, Choice, ParamKind};
use bufferlab_theory::figures::FIGURES;

/// Registry of the analytical figures, which are computed without a simulation.
static ANALYTICAL: &dyn Catalog = &Figures;

struct Figures;

impl Catalog for Figures {
    fn kind(&self) -> &'static str {
        "analytical figure"
    }

    fn cards(&self, _custom: bool) -> Vec<Card> {
        let card = |entry: &bufferlab_theory::figures::Entry| Card {
            name: entry.name,
            aliases: &[],
            title: entry.summary,
            summary: entry.summary,
            source: "",
            params: &[],
        };
        FIGURES.iter().map(card).collect()
    }
}

const SET: Kind = Kind::Settings { of: "scenario" };
const PRIORITIES: Kind = Kind::Counts { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };
const LABELS: Kind = Kind::Values { or: None };
const SCENARIO: KeySpec = optional(
    "scenario",
    Kind::Text,
    "\"../../scenarios/abm-full.toml\"",
    "Another scenario file, relative to this file.",
);
const OWN_SET: KeySpec = optional(
    "set",
    SET,
    "{ \"switch.policy\" = \"dt\" }",
    "Changes to the scenario: dotted keys, as with `--set`.",
);

/// Keys at the top level of an experiment file.
pub static ROOT: TableSpec = TableSpec {
    title: "top level",
    doc: "The experiment itself: the figure's content, the scenario and the comparison. An analytical figure has only `title`, `figure`, `about` and `theory`.",
    keys: &[
        required("title", Kind::Text, "\"Incast at rising load\"", "Content of the experiment, in a line."),
        required(
            "figure",
            Kind::Text,
            "\"Fig. 6\"",
            "Number of the figure in the paper; any name for a custom experiment.",
        ),
        default(
            "about",
            Kind::Text,
            "\"\"",
            "Differences from the paper, with reasons; paragraphs of the page.",
        ),
        optional(
            "scenario",
            Kind::Text,
            "\"../../scenarios/abm-reduced.toml\"",
            "Scenario file to run, relative to this file. Required unless `theory` is set.",
        ),
        optional(
            "theory",
            Kind::Name(ANALYTICAL),
            "\"abm-5\"",
            "Analytical figure to compute instead of runs; `bufferlab theory figure` lists them.",
        ),
        optional(
            "policies",
            Kind::Texts,
            "[\"dt\", \"abm\"]",
            "Policies to compare: short for one `[[variant]]` each that sets `switch.policy` and discards the scenario's settings of it. \
             Parameters and other changes as on the command line: `\"dt(alpha=2)\"`, `\"deep: dt + buffer=2 MB\"` \
             (section Variants of [scenarios.md](scenarios.md)).",
        ),
        optional(
            "set",
            SET,
            "{ \"workload.web_search.load\" = 0.4 }",
            "Changes to the scenario of every run: dotted keys, as with `--set`. Scale, axes and variants are applied later, in that order.",
        ),
        optional(
            "axis",
            Kind::Tables(&AXIS),
            "[{ name = \"load\", … }]",
            "Varied parameters. The first is the horizontal axis of the panels.",
        ),
        optional(
            "variant",
            Kind::Tables(&VARIANT),
            "[{ name = \"dt\", set = { \"switch.policy\" = \"dt\" } }]",
            "Compared variants, listed after the `policies`. One of the two is required.",
        ),
        optional(
            "metrics",
            Kind::Named(&METRIC),
            "{ incast = \"class.incast.slowdown_p99\" }",
            "Short names for metrics of a run: the id of a metric of the summary ([all](metrics.md); `pauses` are \
             the pause frames that switches sent), or a table.",
        ),
        optional(
            "quick",
            Kind::Table(&SCALE),
            "{ seeds = 3 }",
            "Reduced size for `--scale quick`. Required unless `theory` is set.",
        ),
        optional(
            "paper",
            Kind::Table(&SCALE),
            "{ seeds = 5 }",
            "The paper's size for `--scale paper`, if available.",
        ),
        optional(
            "artifact",
            Kind::Table(&READING),
            "{ set = { \"switch.uncharged_bytes\" = \"34 B\" } }",
            "Settings of the authors' public simulator for `--profile artifact`, if available.",
        ),
        optional(
            "panel",
            Kind::Tables(&PANEL),
            "[{ title = \"p99 slowdown\", metric = \"incast\" }]",
            "Charts over the first axis.",
        ),
        optional(
            "course",
            Kind::Tables(&COURSE),
            "[{ title = \"queues\", of = [\"occupancy\"] }]",
            "Charts over time.",
        ),
        optional("claim", Kind::Tables(&CLAIM), "[{ id = \"ABM-F6a-3\", … }]", "Claims to check."),
    ],
    variants: &[],
};

/// Keys of the table of an axis, which is a varied parameter of an experiment.
pub static AXIS: TableSpec = TableSpec {
    title: "[[axis]]",
    doc: "An axis: a parameter that the experiment varies.",
    keys: &[
        required("name", Kind::Text, "\"load\"", "Name in tables."),
        computed(
            "title",
            Kind::Text,
            "its name",
            "\"load of the uplinks\"",
            "Title of the chart's axis, with the unit.",
        ),
        optional(
            "key",
            Kind::Text,
            "\"workload.web_search.load\"",
            "Dotted key of the scenario that plain values set.",
        ),
        required(
            "values",
            Kind::Values { or: Some(&AXIS_VALUE) },
            "[0.2, 0.4, 0.8]",
            "Places of the axis: values of `key`, or tables. A plain value is also the label.",
        ),
    ],
    variants: &[],
};

/// Keys of the table of one value on an axis.
pub static AXIS_VALUE: TableSpec = TableSpec {
    title: "a place of an axis",
    doc: "A place on an axis that changes several keys of the scenario.",
    keys: &[
        required("label", Kind::Text, "\"half\"", "Name in tables and expressions."),
        computed(
            "x",
            Kind::Number,
            "the number at the start of the label, else the place in the list",
            "0.5",
            "Position on the axis.",
        ),
        OWN_SET,
        SCENARIO,
    ],
    variants: &[],
};

/// Keys of the table of a variant that an experiment compares.
pub static VARIANT: TableSpec = TableSpec {
    title: "[[variant]]",
    doc: "A variant of the scenario that the experiment compares.",
    keys: &[
        required("name", Kind::Text, "\"dt\"", "Name in tables, charts and expressions."),
        OWN_SET,
        SCENARIO,
        optional(
            "artifact",
            SET,
            "{ \"switch.policy.unscheduled_alpha\" = 1024.0 }",
            "Changes of this variant in the artifact's reading, applied before those of `[artifact]`.",
        ),
    ],
    variants: &[],
};

/// Kind of values that name a metric of a run.
pub static METRIC: Kind = Kind::TextOr {
    text: "the id of a metric of the summary",
    tables: &[&STATISTIC, &GOODPUT, &QUEUES, &PROBE],
};

const CLASSES: &str = "[\"web_search\"]";

/// Keys of the table of a statistic that an experiment computes.
pub static STATISTIC: TableSpec = TableSpec {
    title: "a statistic",
    doc: "A metric over flows, over queries, or over the samples of a buffer: `{ flows = [\"web_search\"], below_bytes = 100_000, \
          of = \"slowdown\", take = \"p99\" }`. Give at most one of `flows`, `queries` and `priorities`; \
          without any of these keys, the metric covers all flows.",
    keys: &[
        optional("flows", Kind::Texts, CLASSES, "Classes of the flows."),
        optional("queries", Kind::Texts, "[\"incast\"]", "Classes of the queries."),
        optional(
            "priorities",
            PRIORITIES,
            "[3]",
            "Queues of these priorities together, at every sample of the sampled switch while flows arrive.",
        ),
        default(
            "from_bytes",
            Kind::Count { min: 0, max: u64::MAX },
            "0",
            "Only flows of at least this size (bytes).",
        ),
        optional(
            "below_bytes",
            Kind::Count { min: 1, max: u64::MAX },
            "100_000",
            "Only flows below this size (bytes).",
        ),
        required("of", Kind::Words(Quantity::WORDS), "\"slowdown\"", "Quantity to evaluate."),
        required("take", Kind::Words(Take::WORDS), "\"p99\"", "Statistic of the quantity."),
    ],
    variants: &[],
};

/// Keys of the table of a goodput metric, which is measured between two samples.
pub static GOODPUT: TableSpec = TableSpec {
    title: "a goodput",
    doc: "A metric: the goodput (payload received per time) of the flows of some classes, between two samples. Needs \
          `output.sample_flows`.",
    keys: &[
        required("goodput", Kind::Texts, "[\"iperf\"]", "Classes of the flows."),
        required("from_ms", Kind::Number, "1_000.0", "Start: the first sample at or after this time (ms)."),
        required("until_ms", Kind::Number, "3_000.0", "End: the last sample at or before this time (ms)."),
        default("take", Kind::Words(GoodputOf::WORDS), "\"sum\"", "Statistic of the flows."),
    ],
    variants: &[],
};

/// Keys of a statistic that counts events of queues.
pub static QUEUES: TableSpec = TableSpec {
    title: "a count of queues",
    doc: "A metric: a count of packets or events in the queues of all switches.",
    keys: &[
        required("queues", PRIORITIES, "[1]", "Priorities of the queues."),
        required("count", Kind::Words(QueueCount::WORDS), "\"evicted_packets\"", "Counter of the queues."),
    ],
    variants: &[],
};

/// Keys of the table of a metric from a policy's internal value (probe), such as a threshold.
pub static PROBE: TableSpec = TableSpec {
    title: "a probe",
    doc: "A metric: the sum over all sampled queues of the last sample of a policy's probe. Use this metric for counters.",
    keys: &[
        required(
            "probe",
            Kind::Text,
            "\"missed_chances\"",
            "Name on the policy's page and in the table `probes`.",
        ),
        optional(
            "priority",
            Kind::Count { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 },
            "1",
            "Only queues of this priority. A probe of a port has a value for each of its queues, which would count repeatedly.",
        ),
    ],
    variants: &[],
};

/// Keys of the table of a scale, which sets the size of an experiment.
pub static SCALE: TableSpec = TableSpec {
    title: "[quick] and [paper]",
    doc: "Size of the experiment at the reduced or the paper's scale.",
    keys: &[
        required(
            "seeds",
            Kind::Count { min: 1, max: u32::MAX as u64 },
            "3",
            "Number of seeds of every point.",
        ),
        OWN_SET,
        SCENARIO,
        optional(
            "values",
            Kind::Named(&LABELS),
            "{ load = [0.2, 0.8] }",
            "Fewer places: the name of an axis, and the labels of the places to run.",
        ),
    ],
    variants: &[],
};

/// Keys of the settings in which the authors' simulator (artifact) differs from the paper.
pub static READING: TableSpec = TableSpec {
    title: "[artifact]",
    doc: "Settings of the authors' public simulator that differ from the paper or that the paper does not state; the scenario's `profile` \
          sets the rest. The artifact's settings are applied last, to all variants, so they cannot set a key that an axis varies.",
    keys: &[default("about", Kind::Text, "\"\"", "Description of the differences."), OWN_SET, SCENARIO],
    variants: &[],
};

/// Keys of the table of a chart over an axis.
pub static PANEL: TableSpec = TableSpec {
    title: "[[panel]]",
    doc: "A chart of metrics over the first axis, repeated for every combination of the other axes.",
    keys: &[
        required("title", Kind::Text, "\"p99 FCT slowdown of the answers\"", "Caption."),
        required("metric", Kind::Text, "\"incast\"", "The name of a metric in `[metrics]`."),
        default("log", Kind::Flag, "false", "Logarithmic vertical axis."),
        optional("variants", Kind::Texts, "[\"dt\", \"abm\"]", "Variants to draw; default: all."),
    ],
    variants: &[],
};

/// Keys of the table of a chart over time.
pub static COURSE: TableSpec = TableSpec {
    title: "[[course]]",
    doc: "A chart over time, from samples of the runs with the first seed.",
    keys: &[
        required("title", Kind::Text, "\"queues and their threshold\"", "Caption."),
        required(
            "of",
            Kind::List(&ParamKind::Choice(Sampled::WORDS)),
            "[\"occupancy\", \"threshold\"]",
            "Quantities to draw, all in one unit: `occupancy` (KB), `threshold` (of a port's lowest priority in use, KB), or alone `goodput` \
             (Mb/s) or `jain`, both of flows (needs `output.sample_flows`).",
        ),
        default(
            "ports",
            Kind::Counts { min: 0, max: u16::MAX as u64 },
            "[]",
            "Ports of the sampled switch, one line each; empty: the whole switch. Not for flows.",
        ),
        default("since_ms", Kind::Number, "0.0", "Start of the horizontal axis (ms)."),
    ],
    variants: &[],
};

const EFFECT_EXAMPLE: &str = "'lower(v(\"incast\", \"abm\", 0.8), v(\"incast\", \"dt\", 0.8))'";
const EFFECT_DOC: &str =
    "Measured effect: an expression (section Expressions) over the metrics' means over the seeds.";
const AT_LEAST: KeySpec = optional(
    "at_least",
    Kind::Number,
    "0.5",
    "Least value that the criterion accepts. This or `at_most` is required.",
);
const AT_MOST: KeySpec =
    optional("at_most", Kind::Number, "0.1", "Greatest value that the criterion accepts.");
const NEUTRAL: KeySpec = optional(
    "neutral",
    Kind::Number,
    "0.0",
    "Value that means no effect; left out where the statement is that there is none. If set, the effect has one direction: `at_least` \
     or `at_most`, not both.",
);
const PAPER: KeySpec = optional("paper", Kind::Number, "0.94", "The paper's value.");
const PERCENT: KeySpec = default("percent", Kind::Flag, "false", "Whether values are shown in percent.");
const OVER_SEEDS: KeySpec = default(
    "over_seeds",
    Kind::Words(OverSeeds::WORDS),
    "\"mean\"",
    "Combination of the seeds into one number.",
);
const GUARD: KeySpec = optional(
    "guard",
    Kind::Text,
    "'v(\"lost\", \"dt\", 0.8)'",
    "An expression that must be above 0 for the effect to be meaningful, such as the number of lost packets; otherwise a PASS becomes INCONCLUSIVE.",
);
const BETTER: KeySpec = optional(
    "better",
    Kind::Words(Better::WORDS),
    "\"above\"",
    "Side of the band on which the scheme does better than the paper says, for a statement without direction. A FAIL on that side says so.",
);
const MARKED: KeySpec = optional(
    "mark",
    Kind::Table(&MARK),
    "{ metric = \"incast\", variant = \"abm\", value = 'v(\"incast\", \"dt\", x) * (1.0 - paper)' }",
    "Marker for the paper's value in a panel.",
);

/// Keys of the table of a claim that an experiment checks.
pub static CLAIM: TableSpec = TableSpec {
    title: "[[claim]]",
    doc: "A statement and its criterion; the rules of verdicts are in [reproduction.md](../evidence/reproduction.md).",
    keys: &[
        required(
            "id",
            Kind::Text,
            "\"ABM-F6a-3\"",
            "Number in the table of claims; any name for a custom claim.",
        ),
        optional(
            "statement",
            Kind::Text,
            "\"ABM ends queries sooner than DT at every load\"",
            "Statement in a sentence, for custom claims. Statements of the papers are in the table of claims.",
        ),
        optional("note", Kind::Text, "\"The largest over the loads.\"", "Note to the verdict."),
        optional(
            "not_checkable",
            Kind::Text,
            "\"the paper does not state the rate\"",
            "Reason why the claim cannot be decided. Excludes `effect` and all keys that belong to it.",
        ),
        optional("effect", Kind::Text, EFFECT_EXAMPLE, EFFECT_DOC),
        AT_LEAST,
        AT_MOST,
        NEUTRAL,
        PAPER,
        PERCENT,
        OVER_SEEDS,
        GUARD,
        BETTER,
        MARKED,
        optional(
            "also",
            Kind::Tables(&CONDITION),
            "[{ effect = 'v(\"incast\", \"abm\", 0.8)', at_most = 10.0 }]",
            "Additional conditions.",
        ),
        optional(
            "beside",
            Kind::Tables(&BESIDE),
            "[{ reading = \"16 items in a query\", effect = 'v(\"qct\", \"dt\", \"16 items\")' }]",
            "Values under other readings of the paper; shown, not judged.",
        ),
    ],
    variants: &[],
};

/// Keys of the table of an additional condition in a claim.
pub static CONDITION: TableSpec = TableSpec {
    title: "another condition of a claim",
    doc: "A condition in addition to the claim's effect; of several conditions the worst verdict counts.",
    keys: &[
        required("effect", Kind::Text, EFFECT_EXAMPLE, EFFECT_DOC),
        AT_LEAST,
        AT_MOST,
        NEUTRAL,
        PAPER,
        PERCENT,
        OVER_SEEDS,
        GUARD,
        BETTER,
        MARKED,
    ],
    variants: &[],
};

/// Keys of the table for the value of a claim under another interpretation of the paper.
pub static BESIDE: TableSpec = TableSpec {
    title: "another reading of a claim",
    doc: "The effect under another reading of the paper. The page shows it beside the verdict, which does not depend on it.",
    keys: &[
        required("reading", Kind::Text, "\"16 items in a query\"", "Name of the reading."),
        required("effect", Kind::Text, EFFECT_EXAMPLE, EFFECT_DOC),
        PERCENT,
    ],
    variants: &[],
};

/// Keys of the marker that shows the paper's value in a chart.
pub static MARK: TableSpec = TableSpec {
    title: "the mark of a claim",
    doc: "A hollow marker in a chart: the paper's value for a variant. For a relative statement, the value is computed from bufferlab's baseline.",
    keys: &[
        required("metric", Kind::Text, "\"incast\"", "Metric whose panels show the marker."),
        required("variant", Kind::Text, "\"abm\"", "Variant of the value."),
        optional("x", LABELS, "[0.8]", "Places of the first axis; default: all."),
        optional("y", LABELS, "[\"dctcp\"]", "Places of the second axis; default: all."),
        required(
            "value",
            Kind::Text,
            "'v(\"incast\", \"dt\", x) * (1.0 - paper)'",
            "Value of the marker: an expression that may also use `paper`, and the places `x` and `y`.",
        ),
    ],
    variants: &[],
};
