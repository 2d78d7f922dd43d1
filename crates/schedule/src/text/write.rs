//! Writes a schedule file that reads back as an equal schedule.

use super::COLUMNS;
use crate::{Condition, Edge, Schedule, Transfer, Work};
use bufferlab_units::Time;
use std::io::{self, Write};

/// Writes `schedule` to `out` in the format of [`crate::parse_schedule`].
/// Equal schedules give equal files.
///
/// # Errors
/// Returns the errors of writing to `out`.
pub fn write_schedule(out: impl Write, schedule: &Schedule) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    // The last column, `collective`, is omitted if the schedule has no collectives.
    let columns = if schedule.collectives().is_empty() { COLUMNS.len() - 1 } else { COLUMNS.len() };
    writer.write_record(&COLUMNS[..columns])?;
    let parents = schedule.parents();
    for node in schedule.nodes() {
        let mut row: [String; COLUMNS.len()] = Default::default();
        row[0] = schedule.name(node);
        match schedule.work(node) {
            Work::Transfer(Transfer { src, dst, bytes, class }) => {
                row[1] = "transfer".to_owned();
                (row[2], row[3], row[4]) = (src.to_string(), dst.to_string(), bytes.to_string());
                row[8].clone_from(&schedule.classes()[usize::from(class)]);
            }
            Work::Compute { rank, lane, duration } => {
                row[1] = "compute".to_owned();
                (row[2], row[5]) = (rank.to_string(), nanoseconds(duration));
                if lane > 0 {
                    row[7] = lane.to_string();
                }
            }
            Work::Barrier => row[1] = "barrier".to_owned(),
        }
        if schedule.start(node) > Time::ZERO {
            row[6] = nanoseconds(schedule.start(node));
        }
        let words: Vec<_> = parents.of_node(node).map(|edge| word(schedule, edge)).collect();
        row[9] = words.join(" ");
        if let Some(number) = schedule.collective(node) {
            row[10] = format!("{number}:{}", schedule.collectives()[number as usize]);
        }
        writer.write_record(&row[..columns])?;
    }
    writer.flush()
}

/// Writes an edge as an entry of the column `after`.
fn word(schedule: &Schedule, edge: Edge) -> String {
    let Edge { node, condition, delay } = edge;
    let mut text = schedule.name(node);
    let condition = match condition {
        Condition::Started => ":started",
        Condition::Sent => ":sent",
        Condition::Finished => "",
    };
    text.push_str(condition);
    if delay > Time::ZERO {
        text.push('+');
        text.push_str(&nanoseconds(delay));
    }
    text
}

/// Formats a time exactly in nanoseconds, with three decimals unless all three are zero.
fn nanoseconds(time: Time) -> String {
    match (time.0 / 1_000, time.0 % 1_000) {
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest:03}"),
    }
}
