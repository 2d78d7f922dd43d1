//! Errors in tables of flow sizes, with their place.

use std::fmt;

/// Place of a point in a table of flow sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizePlace {
    /// Number of the point in the table, from 1.
    Point(usize),
    /// Number of the line in the text, from 1.
    Line(usize),
}

impl fmt::Display for SizePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Point(number) => write!(f, "point {number}"),
            Self::Line(number) => write!(f, "line {number}"),
        }
    }
}

/// A table that is not a distribution of flow sizes. `name` is the name of the distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SizeError {
    /// The table of flow sizes has no points.
    #[error("sizes {name}: no points; give at least one line `bytes,cumulative`, the last with cumulative 1")]
    NoPoints { name: String },
    /// A line of the table is not a pair of numbers.
    #[error("sizes {name}, {place}: expected `bytes,cumulative` (two numbers and a comma), found `{text}`")]
    NotAPair { name: String, place: SizePlace, text: String },
    /// A size in the table is invalid for flows.
    #[error(
        "sizes {name}, {place}: {bytes} is not a size in bytes; sizes are finite, not negative, and the \
         largest is at least 1"
    )]
    NotASize { name: String, place: SizePlace, bytes: f64 },
    /// A size in the table is below the size of the previous point.
    #[error("sizes {name}, {place}: {bytes} bytes after {before}; sort the points by size")]
    SizeFalls { name: String, place: SizePlace, bytes: f64, before: f64 },
    /// A probability in the table is outside of 0..=1.
    #[error(
        "sizes {name}, {place}: {cumulative} is not a cumulative probability between 0 and 1; divide \
         percentages by 100"
    )]
    NotAProbability { name: String, place: SizePlace, cumulative: f64 },
    /// A cumulative probability in the table decreases.
    #[error(
        "sizes {name}, {place}: cumulative probability {cumulative} after {before}; it counts all flows up \
         to that size, so it never falls"
    )]
    ProbabilityFalls { name: String, place: SizePlace, cumulative: f64, before: f64 },
    /// The last cumulative probability is below 1: some flows would have no size.
    #[error("sizes {name}, {place}: the last cumulative probability is {cumulative}, expected 1")]
    EndsBelowOne { name: String, place: SizePlace, cumulative: f64 },
}
