//! Analytical figures of the papers, which this module computes again.
//!
//! If a paper does not state a figure's parameters, [`Figure::note`] names the parameters of the
//! computed figure. Steady states use closed forms. Transients use the [fluid model](crate::fluid).

mod bursts;
mod courses;
mod examples;
mod shares;

use crate::fluid::FluidError;

/// Scale of an axis of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The axis has steps of equal length for equal differences.
    Linear,
    /// The axis has equal steps for equal ratios. All values are above zero.
    Log,
}

/// An axis of a figure: its quantity, with the unit in brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Title of the axis, for example "arrival rate (line rates)".
    pub title: String,
    /// Scale of the figure's axis: linear or logarithmic.
    pub scale: Scale,
}

impl Axis {
    fn linear(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Linear }
    }

    fn log(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Log }
    }
}

/// A line of a figure: points in order of x, joined by straight lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the plotted line in the legend.
    pub name: String,
    /// Points (x, y) of the line, in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Value of y at x, by linear interpolation. Outside the range of x, the value is the y of the
    /// nearest point. `None` if the line has no points.
    #[must_use]
    pub fn at(&self, x: f64) -> Option<f64> {
        let after = self.points.partition_point(|point| point.0 <= x);
        match (after.checked_sub(1).map(|left| self.points[left]), self.points.get(after)) {
            (Some((x0, y0)), Some(&(x1, y1))) => Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)),
            (Some((_, y)), None) | (None, Some(&(_, y))) => Some(y),
            (None, None) => None,
        }
    }
}

/// One panel of a paper's figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the figure's panel in file names, such as "abm-5a".
    pub name: String,
    /// Title of the figure's panel for the caption.
    pub title: String,
    /// Number of the paper's figure and its parameters, including parameters that the paper
    /// does not state.
    pub note: String,
    /// Horizontal axis of the figure's panel.
    pub x: Axis,
    /// Vertical axis of the figure's panel.
    pub y: Axis,
    /// Lines of the panel, in the order of the legend.
    pub series: Vec<Series>,
}

/// A figure of a paper that can be computed: its name and a function that builds its panels.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name of the figure on the command line: "abm-5".
    pub name: &'static str,
    /// Content of the figure in one line of text.
    pub summary: &'static str,
    build: fn() -> Result<Vec<Figure>, FluidError>,
}

impl Entry {
    /// Computes the panels of the figure.
    ///
    /// # Errors
    /// Only if this crate has a defect, because the parameters of figures are in their domains.
    pub fn panels(&self) -> Result<Vec<Figure>, FluidError> {
        (self.build)()
    }
}

/// All figures that can be computed, in the order of the papers.
pub const FIGURES: &[Entry] = &[
    Entry {
        name: "abm-4",
        summary: "Dynamic Thresholds: free buffer, and share of each priority, against the number of congested queues.",
        build: shares::abm_4,
    },
    Entry {
        name: "abm-5",
        summary: "Burst tolerance of Dynamic Thresholds and of ABM against the rate of the burst.",
        build: bursts::abm_5,
    },
    Entry {
        name: "plasticine-2",
        summary: "Dynamic Thresholds: occupancy of each queue in a buffer of 60 packets.",
        build: examples::plasticine_2,
    },
    Entry {
        name: "plasticine-3",
        summary: "Motion of the common threshold of a burst and a long queue.",
        build: courses::plasticine_3,
    },
    Entry {
        name: "plasticine-4",
        summary: "Share of one high-priority queue against the number of low-priority queues.",
        build: shares::plasticine_4,
    },
    Entry {
        name: "plasticine-5",
        summary: "Dynamic Thresholds: queues of one port, and the space that they leave for a burst.",
        build: examples::plasticine_5,
    },
    Entry {
        name: "plasticine-6",
        summary: "Plasticine: queues of one port, and the space that they leave for a burst (as Figure 5).",
        build: examples::plasticine_6,
    },
    Entry {
        name: "plasticine-16",
        summary: "Burst absorption of Dynamic Thresholds and of Plasticine against the rate of the burst.",
        build: bursts::plasticine_16,
    },
    Entry {
        name: "tdt-3",
        summary: "A long queue, a new one and their threshold, for a slow burst and for a fast one.",
        build: courses::tdt_3,
    },
    Entry {
        name: "reverie-4",
        summary: "SONiC: bytes of lossy traffic for each byte of lossless traffic.",
        build: shares::reverie_4,
    },
    Entry {
        name: "reverie-5",
        summary: "SONiC: thresholds of lossless and of lossy queues against the number of each.",
        build: shares::reverie_5,
    },
];

/// The paper figure with the name `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    FIGURES.iter().find(|entry| entry.name == name)
}
