//! The format of experiments as data: every table, key, kind, default and explanation, in one
//! place.
//!
//! The reader looks keys up here, and the JSON Schema and the reference in
//! `docs/reference/experiments.md` are generated from here.

use crate::{OverSeeds, Quantity, QueueCount, Sampled, Take};
use bufferlab_core::schedule::MAX_QUEUES_PER_PORT;
use bufferlab_document::spec::{KeySpec, Kind, TableSpec, computed, default, optional, required};
use bufferlab_params::{Card, Catalog, Choice, ParamKind};
use bufferlab_theory::figures::FIGURES;

/// Analytical figures, by name.
static ANALYTICAL: &dyn Catalog = &Figures;

struct Figures;

impl Catalog for Figures {
    fn kind(&self) -> &'static str {
        "analytical figure"
    }

    fn cards(&self, _own: bool) -> Vec<Card> {
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
    "What it changes: dotted keys of the scenario, as with `--set`.",
);

/// The top level of the file.
pub static ROOT: TableSpec = TableSpec {
    title: "top level",
    doc: "What is shown, which scenario runs and what is compared. An analytical figure has `title`, `figure`, `about` and `theory`, \
          and nothing else.",
    keys: &[
        required("title", Kind::Text, "\"Incast at rising load\"", "What the experiment shows, in a line."),
        required("figure", Kind::Text, "\"Fig. 6\"", "What the paper calls it; for your own, any name."),
        default("about", Kind::Text, "\"\"", "What differs from the paper, and why; paragraphs of the page."),
        optional(
            "scenario",
            Kind::Text,
            "\"../../scenarios/abm-reduced.toml\"",
            "The scenario file that runs, relative to this file. Required unless there is `theory`.",
        ),
        optional(
            "theory",
            Kind::Name(ANALYTICAL),
            "\"abm-5\"",
            "The analytical figure that is computed instead of runs; `bufferlab theory figure` lists them.",
        ),
        optional(
            "policies",
            Kind::Texts,
            "[\"dt\", \"abm\"]",
            "What is compared, if policies are: short for one `[[variant]]` for each that sets `switch.policy`, which starts afresh whatever \
             the scenario says of it. Parameters and other changes as on the command line: `\"dt(alpha=2)\"`, `\"deep: dt + buffer=2 MB\"` \
             (section Variants of [scenarios.md](scenarios.md)).",
        ),
        optional(
            "set",
            SET,
            "{ \"workload.web_search.load\" = 0.4 }",
            "What every run changes: dotted keys of the scenario, as with `--set`. Scale, axes and variants come after it, in that order.",
        ),
        optional(
            "axis",
            Kind::Tables(&AXIS),
            "[{ name = \"load\", … }]",
            "What is varied. The first is the horizontal axis of the panels.",
        ),
        optional(
            "variant",
            Kind::Tables(&VARIANT),
            "[{ name = \"dt\", set = { \"switch.policy\" = \"dt\" } }]",
            "What is compared, behind the `policies`. One of the two is required.",
        ),
        optional(
            "metrics",
            Kind::Named(&METRIC),
            "{ incast = \"class.incast.slowdown_p99\" }",
            "Short names for numbers of a run: the id of one of the summary's ([all](metrics.md); `pauses` are \
             the pause frames that switches sent), or a table.",
        ),
        optional(
            "quick",
            Kind::Table(&SCALE),
            "{ seeds = 3 }",
            "The reduced size, `--scale quick`. Required unless there is `theory`.",
        ),
        optional(
            "paper",
            Kind::Table(&SCALE),
            "{ seeds = 5 }",
            "The paper's size, `--scale paper`, where there is one.",
        ),
        optional(
            "artifact",
            Kind::Table(&READING),
            "{ set = { \"switch.uncharged_bytes\" = \"34 B\" } }",
            "The reading of the authors' public simulator, `--profile artifact`, where there is one.",
        ),
        optional(
            "panel",
            Kind::Tables(&PANEL),
            "[{ title = \"p99 slowdown\", metric = \"incast\" }]",
            "What is drawn over the first axis.",
        ),
        optional(
            "course",
            Kind::Tables(&COURSE),
            "[{ title = \"queues\", of = [\"occupancy\"] }]",
            "What is drawn over time.",
        ),
        optional(
            "claim",
            Kind::Tables(&CLAIM),
            "[{ id = \"ABM-F6a-3\", … }]",
            "The statements that are checked.",
        ),
    ],
    variants: &[],
};

/// A varied parameter.
pub static AXIS: TableSpec = TableSpec {
    title: "[[axis]]",
    doc: "Something that is varied.",
    keys: &[
        required("name", Kind::Text, "\"load\"", "Its name in tables."),
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
            "The dotted key of the scenario that plain values set.",
        ),
        required(
            "values",
            Kind::Values { or: Some(&AXIS_VALUE) },
            "[0.2, 0.4, 0.8]",
            "Its places: values of `key`, or tables. A plain value is its own label.",
        ),
    ],
    variants: &[],
};

/// A place of an axis as a table.
pub static AXIS_VALUE: TableSpec = TableSpec {
    title: "a place of an axis",
    doc: "A place that is more than one value of one key.",
    keys: &[
        required("label", Kind::Text, "\"half\"", "As tables and expressions call it."),
        computed(
            "x",
            Kind::Number,
            "the number at the start of the label, else the place in the list",
            "0.5",
            "Where it is drawn.",
        ),
        OWN_SET,
        SCENARIO,
    ],
    variants: &[],
};

/// A compared variant.
pub static VARIANT: TableSpec = TableSpec {
    title: "[[variant]]",
    doc: "Something that is compared: anything that a scenario can say.",
    keys: &[
        required("name", Kind::Text, "\"dt\"", "Its name in tables, charts and expressions."),
        OWN_SET,
        SCENARIO,
    ],
    variants: &[],
};

/// A metric of a run.
pub static METRIC: Kind = Kind::TextOr {
    text: "the id of a metric of the summary",
    tables: &[&STATISTIC, &GOODPUT, &QUEUES, &PROBE],
};

const CLASSES: &str = "[\"web_search\"]";

/// A statistic.
pub static STATISTIC: TableSpec = TableSpec {
    title: "a statistic",
    doc: "A metric over flows, over queries, or over the samples of a buffer: `{ flows = [\"web_search\"], below_bytes = 100_000, \
          of = \"slowdown\", take = \"p99\" }`. Of `flows`, `queries` and `priorities` at most one; without any, it is over all flows.",
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
            "Only flows of at least so many bytes.",
        ),
        optional(
            "below_bytes",
            Kind::Count { min: 1, max: u64::MAX },
            "100_000",
            "Only flows of fewer bytes.",
        ),
        required("of", Kind::Words(Quantity::WORDS), "\"slowdown\"", "What is looked at."),
        required("take", Kind::Words(Take::WORDS), "\"p99\"", "What is taken of it."),
    ],
    variants: &[],
};

/// Goodput between samples.
pub static GOODPUT: TableSpec = TableSpec {
    title: "a goodput",
    doc: "A metric: the payload that receivers got (Mb/s), of all flows of some classes together, between two samples. Needs \
          `output.sample_flows`.",
    keys: &[
        required("goodput", Kind::Texts, "[\"iperf\"]", "The classes."),
        required("from_ms", Kind::Number, "1_000.0", "The first sample at or after this time counts (ms)."),
        required("until_ms", Kind::Number, "3_000.0", "And the last one at or before this (ms)."),
    ],
    variants: &[],
};

/// A count of queues.
pub static QUEUES: TableSpec = TableSpec {
    title: "a count of queues",
    doc: "A metric: a count over the queues of all switches.",
    keys: &[
        required("queues", PRIORITIES, "[1]", "Their priorities."),
        required("count", Kind::Words(QueueCount::WORDS), "\"evicted_packets\"", "What is counted."),
    ],
    variants: &[],
};

/// A probe of a policy.
pub static PROBE: TableSpec = TableSpec {
    title: "a probe",
    doc: "A metric: what the policy says of itself, the last sample of every sampled queue, summed. Meant for counters.",
    keys: &[
        required(
            "probe",
            Kind::Text,
            "\"missed_chances\"",
            "Its name on the policy's page and in the table `probes`.",
        ),
        optional(
            "priority",
            Kind::Count { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 },
            "1",
            "Only queues of this priority: what a policy tells of a port it tells of each of its queues.",
        ),
    ],
    variants: &[],
};

/// Scale of an experiment.
pub static SCALE: TableSpec = TableSpec {
    title: "[quick] and [paper]",
    doc: "How much runs at a scale.",
    keys: &[
        required("seeds", Kind::Count { min: 1, max: u32::MAX as u64 }, "3", "Seeds of every point."),
        OWN_SET,
        SCENARIO,
        optional(
            "values",
            Kind::Named(&LABELS),
            "{ load = [0.2, 0.8] }",
            "Fewer places: the name of an axis, and the labels of those that run.",
        ),
    ],
    variants: &[],
};

/// The artifact's reading.
pub static READING: TableSpec = TableSpec {
    title: "[artifact]",
    doc: "What the authors' public simulator does where the paper says something else, or nothing; the scenario's `profile` brings the \
          rest. It comes after everything else, for all that is compared, so it cannot set what an axis varies.",
    keys: &[default("about", Kind::Text, "\"\"", "What differs, in words."), OWN_SET, SCENARIO],
    variants: &[],
};

/// A chart.
pub static PANEL: TableSpec = TableSpec {
    title: "[[panel]]",
    doc: "A chart over the first axis, one for every combination of the others.",
    keys: &[
        required("title", Kind::Text, "\"p99 FCT slowdown of the answers\"", "Caption."),
        required("metric", Kind::Text, "\"incast\"", "The name of a metric in `[metrics]`."),
        default("log", Kind::Flag, "false", "Logarithmic vertical axis."),
        optional(
            "variants",
            Kind::Texts,
            "[\"dt\", \"abm\"]",
            "What is drawn of all that is compared; everything, if left out.",
        ),
    ],
    variants: &[],
};

/// A chart over time.
pub static COURSE: TableSpec = TableSpec {
    title: "[[course]]",
    doc: "A chart over time, from the samples of the first seed's runs.",
    keys: &[
        required("title", Kind::Text, "\"queues and their threshold\"", "Caption."),
        required(
            "of",
            Kind::List(&ParamKind::Choice(Sampled::WORDS)),
            "[\"occupancy\", \"threshold\"]",
            "What is drawn, all in one unit: `occupancy` (KB), `threshold` (of a port's lowest priority in use, KB), or alone `goodput` \
             (Mb/s) or `jain`, both of flows (needs `output.sample_flows`).",
        ),
        default(
            "ports",
            Kind::Counts { min: 0, max: u16::MAX as u64 },
            "[]",
            "Ports of the sampled switch, a line each; none: the switch as a whole. Not for flows.",
        ),
        default("since_ms", Kind::Number, "0.0", "Where the horizontal axis begins (ms)."),
    ],
    variants: &[],
};

const EFFECT_EXAMPLE: &str = "'lower(v(\"incast\", \"abm\", 0.8), v(\"incast\", \"dt\", 0.8))'";
const EFFECT_DOC: &str =
    "What is measured: an expression (section Expressions) over the metrics' means over the seeds.";
const AT_LEAST: KeySpec = optional(
    "at_least",
    Kind::Number,
    "0.5",
    "The least that the criterion accepts. This or `at_most` is required.",
);
const AT_MOST: KeySpec = optional("at_most", Kind::Number, "0.1", "The most that the criterion accepts.");
const NEUTRAL: KeySpec = optional(
    "neutral",
    Kind::Number,
    "0.0",
    "The value of no effect at all; left out where the statement is that there is none. With it the effect has one direction: `at_least` \
     or `at_most`, not both.",
);
const PAPER: KeySpec = optional("paper", Kind::Number, "0.94", "The paper's value.");
const PERCENT: KeySpec = default("percent", Kind::Flag, "false", "Whether values are shown in percent.");
const OVER_SEEDS: KeySpec =
    default("over_seeds", Kind::Words(OverSeeds::WORDS), "\"mean\"", "How the seeds become one number.");
const GUARD: KeySpec = optional(
    "guard",
    Kind::Text,
    "'v(\"lost\", \"dt\", 0.8)'",
    "An expression that must be above 0 for the effect to say anything, such as the number of lost packets; else a PASS becomes INCONCLUSIVE.",
);
const MARKED: KeySpec = optional(
    "mark",
    Kind::Table(&MARK),
    "{ metric = \"incast\", variant = \"abm\", value = 'v(\"incast\", \"dt\", x) * (1.0 - paper)' }",
    "Where the paper's value would lie in a panel.",
);

/// A claim.
pub static CLAIM: TableSpec = TableSpec {
    title: "[[claim]]",
    doc: "A statement and how it is judged; the rules of verdicts are in [reproduction.md](../evidence/reproduction.md).",
    keys: &[
        required(
            "id",
            Kind::Text,
            "\"ABM-F6a-3\"",
            "Its number in the table of claims; for your own, any name.",
        ),
        optional(
            "statement",
            Kind::Text,
            "\"ABM ends queries sooner than DT at every load\"",
            "What it says, in a sentence; for your own. Those of the papers stand in the table of claims.",
        ),
        optional("note", Kind::Text, "\"The largest over the loads.\"", "To be read with the verdict."),
        optional(
            "not_checkable",
            Kind::Text,
            "\"the paper does not state the rate\"",
            "Why it cannot be decided. Then there is no `effect`, nor anything that belongs to one.",
        ),
        optional("effect", Kind::Text, EFFECT_EXAMPLE, EFFECT_DOC),
        AT_LEAST,
        AT_MOST,
        NEUTRAL,
        PAPER,
        PERCENT,
        OVER_SEEDS,
        GUARD,
        MARKED,
        optional(
            "also",
            Kind::Tables(&CONDITION),
            "[{ effect = 'v(\"incast\", \"abm\", 0.8)', at_most = 10.0 }]",
            "What must hold, too.",
        ),
        optional(
            "beside",
            Kind::Tables(&BESIDE),
            "[{ reading = \"16 items in a query\", effect = 'v(\"qct\", \"dt\", \"16 items\")' }]",
            "What other readings of the paper give; shown, not judged.",
        ),
    ],
    variants: &[],
};

/// An additional condition of a claim.
pub static CONDITION: TableSpec = TableSpec {
    title: "another condition of a claim",
    doc: "What must hold beside the claim's own effect; of several conditions the worst verdict counts.",
    keys: &[
        required("effect", Kind::Text, EFFECT_EXAMPLE, EFFECT_DOC),
        AT_LEAST,
        AT_MOST,
        NEUTRAL,
        PAPER,
        PERCENT,
        OVER_SEEDS,
        GUARD,
        MARKED,
    ],
    variants: &[],
};

/// Value of a claim under another reading of the paper.
pub static BESIDE: TableSpec = TableSpec {
    title: "another reading of a claim",
    doc: "What the effect is in another reading of the paper. It is shown beside the verdict, which does not depend on it.",
    keys: &[
        required("reading", Kind::Text, "\"16 items in a query\"", "Which reading."),
        required("effect", Kind::Text, EFFECT_EXAMPLE, EFFECT_DOC),
        PERCENT,
    ],
    variants: &[],
};

/// Marker for the paper's value in a panel.
pub static MARK: TableSpec = TableSpec {
    title: "the mark of a claim",
    doc: "A hollow marker where the paper's value would put a variant, against *our* baseline where the statement is relative.",
    keys: &[
        required("metric", Kind::Text, "\"incast\"", "The panels of this metric show it."),
        required("variant", Kind::Text, "\"abm\"", "Whose value it would be."),
        optional("x", LABELS, "[0.8]", "Places of the first axis; all, if left out."),
        optional("y", LABELS, "[\"dctcp\"]", "Places of the second axis; all, if left out."),
        required(
            "value",
            Kind::Text,
            "'v(\"incast\", \"dt\", x) * (1.0 - paper)'",
            "The value there: an expression that also knows `paper`, and the places `x` and `y`.",
        ),
    ],
    variants: &[],
};
