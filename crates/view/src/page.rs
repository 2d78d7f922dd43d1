//! Writes the frames of pages. Scripts of the pages draw the data.

use crate::ViewError;
use crate::view::View;
use bufferlab_metrics::PacketRow;
use bufferlab_report::local_page;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

const CHARTS: &str = include_str!("../vendor/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../vendor/uplot/uPlot.min.css");
const STYLE: &str = include_str!("page/view.css");
const VIEW: &str = include_str!("page/view.js");
const PLAY: &str = include_str!("page/play.js");

/// A row of the packet table, with names instead of numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NamedRow {
    pub(crate) time_ps: u64,
    event: &'static str,
    ingress_port: u16,
    port: Option<u16>,
    priority: u8,
    class: Option<String>,
    flow_id: Option<u64>,
    packet: Option<u32>,
    kind: Option<&'static str>,
    size_bytes: u32,
    queue_bytes: u64,
    threshold_bytes: Option<u64>,
    reason: Option<&'static str>,
    bound: Option<&'static str>,
    limit_bytes: Option<u64>,
    held_bytes: Option<u64>,
}

impl NamedRow {
    fn new(row: &PacketRow, classes: &[String]) -> Self {
        Self {
            time_ps: row.time_ps,
            event: row.event.name(),
            ingress_port: row.ingress_port,
            port: row.port,
            priority: row.priority,
            class: row.class.and_then(|class| classes.get(usize::from(class)).cloned()),
            flow_id: row.flow_id,
            packet: row.packet,
            kind: row.kind,
            size_bytes: row.size_bytes,
            queue_bytes: row.queue_bytes,
            threshold_bytes: row.threshold_bytes,
            reason: row.reason,
            bound: row.bound,
            limit_bytes: row.limit_bytes,
            held_bytes: row.held_bytes,
        }
    }
}

/// Returns the first packet rows between two instants (ps), with the names of the packets' classes.
pub(crate) fn rows(
    view: &View,
    (from, until): (u64, u64),
    place: (Option<u16>, Option<u8>),
    most: usize,
) -> Result<Vec<NamedRow>, ViewError> {
    let classes = &view.manifest().names.classes;
    Ok(view.rows((from, until), place, most)?.iter().map(|row| NamedRow::new(row, classes)).collect())
}

/// The page of a view. With `data` (JSON), the page is self-contained.
pub(crate) fn view(data: Option<&str>) -> String {
    let body = html! {
        h1 { "Buffer over time" }
        (window(data, |heading| html! { h2 { (heading) } }))
    };
    page("Buffer over time", &body, VIEW)
}

/// The view as a self-contained part of a larger page.
pub(crate) fn part(data: &str, more: &Markup) -> String {
    let part = html! {
        style { (PreEscaped(CHARTS_STYLE)) }
        style { (PreEscaped(STYLE)) }
        div #window-part { (window(Some(data), |heading| html! { h3 { (heading) } })) }
        (more)
        script { (PreEscaped(CHARTS)) }
        script { (PreEscaped(VIEW)) }
    };
    part.into_string()
}

fn window(data: Option<&str>, heading: impl Fn(&str) -> Markup) -> Markup {
    html! {
        p.soft #subject { }
        p #sentence aria-live="polite" { "Reading the run …" }
        (view_controls())
        div #chart { }
        canvas #lanes tabindex="0" role="img" hidden { }
        p #pointer { "\u{a0}" }
        ul.legend #legend { }
        p.soft #lane-names { }
        p.soft #values-note { }
        div #values { }
        section #why hidden aria-live="polite" {
            (heading("Why it was lost"))
            div.scroll #explanation { }
        }
        section #lost-queries hidden {
            (heading("Queries that lost packets"))
            p.soft #lost-queries-note { }
            div.scroll #lost-queries-table { }
        }
        (heading("Packets"))
        p.soft #rows-note { }
        div.scroll #rows { }
        p.soft.keys {
            "Keys: + and - zoom, the arrows move, 0 shows the whole run, n and p go to the next and the previous loss. Drag over the chart to zoom into a \
             stretch of it."
        }
        @if let Some(data) = data {
            // The code escapes `<`, because only this character can end a script element.
            script #view-data type="application/json" { (PreEscaped(data.replace('<', "\\u003c"))) }
        }
    }
}

fn view_controls() -> Markup {
    let button =
        |id: &str, text: &str, what: &str| html! { button #(id) type="button" title=(what) { (text) } };
    html! {
        div.controls {
            label hidden { span { "Switch" } select #switch { } }
            label {
                span { "Divided by" }
                select #by {
                    option value="port" { "port" }
                    option value="queue" { "queue" }
                    option value="class" { "class" }
                }
            }
            label { span { "Shown" } select #port { } }
            label { span { "Of it" } select #queue { } }
            label { span { "The policy's own value" } select #value { } }
            label.check { input #limit type="checkbox" checked; "limit" }
            label.check { input #most type="checkbox" checked; "most within a point" }
        }
        div.controls {
            (button("in", "Zoom in", "key +"))
            (button("out", "Zoom out", "key -"))
            (button("left", "◀", "earlier: left arrow"))
            (button("right", "▶", "later: right arrow"))
            (button("whole", "Whole run", "key 0"))
            (button("previous", "Previous loss", "key p"))
            (button("next", "Next loss", "key n"))
        }
    }
}

/// Returns the HTML page of the playground.
pub(crate) fn play() -> String {
    let body = html! {
        h1 { "Playground" }
        p.soft { "A switch whose ports share one memory, and a burst that arrives. Change anything: the same packets are sent again at once." }
        p #sentence aria-live="polite" { "Starting …" }
        div.controls #choices { }
        div.controls #params { }
        div #chart { }
        p #pointer { "\u{a0}" }
        ul.legend #legend { }
        div.scroll #table { }
        div.controls { button #save type="button" { "Save as a scenario" } }
        p.soft #took { }
    };
    page("Playground", &body, PLAY)
}

fn page(title: &str, body: &Markup, script: &str) -> String {
    local_page(title, body, &[CHARTS_STYLE, STYLE], &[CHARTS, script])
}
