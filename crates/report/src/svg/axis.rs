//! Axes of charts: their scales and ticks.

use super::CHARACTER;

/// Scale of a chart's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// Axis of a chart, with title, scale, limits and ticks.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    min: f64,
    max: f64,
    pub(super) ticks: Vec<f64>,
    pub(super) text: fn(f64) -> String,
    /// Names of axis values that are not numbers.
    names: Vec<(f64, String)>,
}

/// Round tick steps, as multiples of a power of ten.
const STEPS: [f64; 5] = [1.0, 2.0, 2.5, 5.0, 10.0];

impl Axis {
    /// Creates a linear axis from `min` to at least `max`. The end is rounded up to a tick if a
    /// tick is near. Otherwise the end is slightly beyond `max`, so that values at `max` are not
    /// drawn on the edge.
    pub(crate) fn linear(title: impl Into<String>, min: f64, max: f64, text: fn(f64) -> String) -> Self {
        let span = if max > min { max - min } else { 1.0 };
        let step = round_step(span / 5.0);
        let (first, last) = ((min / step).floor() as i64, ((min + span) / step - 1e-9).ceil() as i64);
        let mut ticks: Vec<f64> = (first..=last).map(|k| k as f64 * step).collect();
        let mut end = ticks[ticks.len() - 1];
        if end - (min + span) > 0.4 * step && ticks.len() > 3 {
            ticks.pop();
            end = min + span * 1.03;
        }
        Self {
            title: title.into(),
            scale: Scale::Linear,
            min: ticks[0],
            max: end,
            ticks,
            text,
            names: Vec::new(),
        }
    }

    /// Extends the axis at both ends, so that a marker at an end covers neither the chart's frame
    /// nor the labels. A linear axis that begins at zero still begins at zero.
    pub(crate) fn with_room(mut self) -> Self {
        const ROOM: f64 = 0.03;
        match self.scale {
            Scale::Linear => {
                let span = self.max - self.min;
                self.min -= if self.min == 0.0 { 0.0 } else { ROOM * span };
                self.max += ROOM * span;
            }
            Scale::Log => {
                let room = (self.max / self.min).powf(ROOM);
                (self.min, self.max) = (self.min / room, self.max * room);
            }
        }
        self
    }

    /// Extends the axis at its end, so that values are placed in the lower part `1 - room`.
    pub(super) fn with_headroom(mut self, room: f64) -> Self {
        let part = 1.0 / (1.0 - room);
        match self.scale {
            Scale::Linear => {
                let before = self.max;
                self.max = self.min + (self.max - self.min) * part;
                if let [.., one, two] = self.ticks[..] {
                    let step = two - one;
                    let more = (1..).map(|k| two + f64::from(k) * step);
                    self.ticks.extend(more.take_while(|tick| *tick <= self.max && *tick > before - step));
                }
            }
            Scale::Log => {
                self.max = self.min * (self.max / self.min).powf(part);
                self.ticks = log_ticks(self.min, self.max);
            }
        }
        self
    }

    /// Creates a linear axis from `min` to exactly `max`. The end has a meaning (a buffer's size)
    /// and need not be a tick.
    pub(crate) fn linear_to(title: impl Into<String>, min: f64, max: f64, text: fn(f64) -> String) -> Self {
        let mut axis = Self::linear(title, min, max, text);
        if max > axis.min {
            axis.ticks.retain(|tick| *tick <= max * (1.0 + 1e-9));
            axis.max = max;
        }
        axis
    }

    /// Creates an axis of names instead of numbers. Each name has a tick, and the axis extends half
    /// a step beyond the outermost ticks.
    pub(crate) fn named(title: impl Into<String>, names: &[(f64, String)]) -> Self {
        let mut ticks: Vec<f64> = names.iter().map(|(place, _)| *place).collect();
        ticks.sort_by(f64::total_cmp);
        let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let beyond = if step.is_finite() && step > 0.0 { step / 2.0 } else { 0.5 };
        let (min, max) = (ticks[0] - beyond, ticks[ticks.len() - 1] + beyond);
        let (title, names) = (title.into(), names.to_vec());
        Self { title, scale: Scale::Linear, min, max, ticks, text: |value| value.to_string(), names }
    }

    /// Text of the label at a tick of the axis.
    pub(super) fn label(&self, tick: f64) -> String {
        let named = self.names.iter().find(|(place, _)| *place == tick);
        named.map_or_else(|| (self.text)(tick), |(_, name)| name.clone())
    }

    /// Restricts the ticks of an axis of counts to whole numbers. An axis too short for two whole
    /// ticks is unchanged.
    pub(crate) fn with_whole_ticks(mut self) -> Self {
        let whole: Vec<f64> = self.ticks.iter().copied().filter(|tick| tick.fract() == 0.0).collect();
        if whole.len() > 1 {
            self.ticks = whole;
        }
        self
    }

    /// Creates a logarithmic axis from `min` to `max`, which are both positive. The axis title
    /// states that the scale is logarithmic.
    pub(crate) fn log(title: impl Into<String>, min: f64, max: f64, text: fn(f64) -> String) -> Self {
        let min = min.max(1e-12);
        let max = max.max(min * 1.5);
        let title = format!("{}, logarithmic", title.into());
        Self { title, scale: Scale::Log, min, max, ticks: log_ticks(min, max), text, names: Vec::new() }
    }

    /// Position of `value` on the axis: 0 at the start and 1 at the end. A value beyond an end of
    /// the axis has the position of this end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Log => (value.max(self.min) / self.min).ln() / (self.max / self.min).ln(),
        };
        place.clamp(0.0, 1.0)
    }

    /// Whether the value is below the start of the axis.
    pub(super) fn is_below(&self, value: f64) -> bool {
        value < self.min
    }

    /// Returns the ticks whose labels do not overlap along `width`. Ticks with overlapping labels
    /// are omitted. Whole decades of a logarithmic axis have precedence.
    pub(super) fn spaced(&self, at: &dyn Fn(f64) -> f64, width: f64) -> Vec<f64> {
        let mut placed: Vec<(f64, f64, f64)> = Vec::new();
        let is_major = |tick: f64| self.scale == Scale::Linear || is_decade(tick);
        for major in [true, false] {
            for &tick in self.ticks.iter().filter(|tick| is_major(**tick) == major) {
                let half = self.label(tick).chars().count() as f64 * CHARACTER / 2.0;
                let (from, to) = (at(tick) - half, at(tick) + half);
                let free = placed.iter().all(|(_, a, b)| to + 4.0 < *a || from > *b + 4.0);
                if free && to <= width + 2.0 {
                    placed.push((tick, from, to));
                }
            }
        }
        let mut ticks: Vec<f64> = placed.into_iter().map(|(tick, ..)| tick).collect();
        ticks.sort_by(f64::total_cmp);
        ticks
    }
}

/// Returns the smallest round step that is not below `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    STEPS.map(|m| m * power).into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power)
}

fn is_decade(value: f64) -> bool {
    let decades = value.log10();
    (decades - decades.round()).abs() < 1e-9
}

/// Returns ticks of a logarithmic axis: whole decades, and multiples by 2 and 5 if the decades are
/// few. If fewer than three ticks result, the axis gets more multiples, and finally equal steps. A
/// single tick would not show the scale.
fn log_ticks(min: f64, max: f64) -> Vec<f64> {
    const FEWEST: usize = 3;
    let decades = (max / min).log10();
    let (from, to) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    let within = |tick: &f64| (min * 0.999..=max * 1.001).contains(tick);
    let of = |multiples: &[f64], every: i32| -> Vec<f64> {
        (from..=to)
            .filter(|decade| decade.rem_euclid(every) == 0)
            .flat_map(|decade| multiples.iter().map(move |m| m * 10_f64.powi(decade)))
            .filter(within)
            .collect()
    };
    let sets: [(&[f64], i32, bool); 4] = [
        (&[1.0], 2, decades >= 7.0),
        (&[1.0], 1, decades >= 3.6),
        (&[1.0, 2.0, 5.0], 1, true),
        (&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], 1, true),
    ];
    let found = sets.into_iter().filter(|set| set.2).map(|(multiples, every, _)| of(multiples, every));
    found.into_iter().find(|ticks| ticks.len() >= FEWEST).unwrap_or_else(|| {
        let step = round_step((max - min) / 6.0);
        let first = (min / step - 1e-9).ceil() as i64;
        (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= max * 1.001).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(value: f64) -> String {
        crate::format::number(value)
    }

    #[test]
    fn linear_ticks_are_round_and_cover_the_range() {
        let axis = Axis::linear("x", 0.0, 93.0, plain);
        assert_eq!(axis.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((axis.place(0.0), axis.place(50.0), axis.place(1e9)), (0.0, 0.5, 1.0));
        // An empty range must not cause a division by zero.
        assert!(Axis::linear("x", 0.0, 0.0, plain).place(0.5).is_finite());
    }

    #[test]
    fn an_axis_does_not_go_far_beyond_what_it_shows() {
        // The interval of a percentage may end at 103 %, but an axis up to 125 % would be too long.
        let axis = Axis::linear("x", 0.0, 103.0, plain);
        assert_eq!(axis.ticks, [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert!(axis.place(103.0) < 1.0 && axis.place(107.0) == 1.0);
    }

    #[test]
    fn an_axis_may_end_between_two_ticks() {
        let axis = Axis::linear_to("x", 0.0, 93.0, plain);
        assert_eq!(axis.ticks, [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(axis.place(93.0), 1.0);
        assert!(Axis::linear_to("x", 0.0, 0.0, plain).place(0.5).is_finite());
    }

    #[test]
    fn counts_have_ticks_at_whole_numbers() {
        assert_eq!(Axis::linear("x", 0.0, 2.4, plain).ticks.len(), 6);
        assert_eq!(Axis::linear("x", 0.0, 2.4, plain).with_whole_ticks().ticks, [0.0, 1.0, 2.0]);
        assert_eq!(Axis::linear("x", 0.0, 0.4, plain).with_whole_ticks().ticks.len(), 5);
    }

    #[test]
    fn log_ticks_thin_out_with_the_number_of_decades() {
        assert_eq!(Axis::log("x", 1.0, 1e4, plain).ticks, [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(Axis::log("x", 1.0, 60.0, plain).ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(Axis::log("x", 3.0, 12.0, plain).ticks, [3.0, 5.0, 7.0, 10.0]);
        assert_eq!(Axis::log("x", 3.1, 4.6, plain).ticks, [3.5, 4.0, 4.5]);
        assert!((Axis::log("x", 1.0, 100.0, plain).place(10.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn no_axis_has_fewer_than_three_ticks() {
        let ratio = 10_f64.powf(0.013);
        let (mut low, mut tried) = (1e-4, 0);
        while low < 1e5 {
            for span in [1.0, 1.6, 2.2, 4.0, 9.0, 11.0, 70.0, 1e3, 1e5, 1e9] {
                let axis = Axis::log("x", low, low * span, plain);
                assert!((3..=13).contains(&axis.ticks.len()), "{low} × {span}: {:?}", axis.ticks);
                let shown = axis.spaced(&|value| 40.0 + axis.place(value) * 340.0, 400.0);
                assert!(shown.len() >= 2, "{low} × {span}: {shown:?}");
                tried += 1;
            }
            low *= ratio;
        }
        assert!(tried > 1_000);
    }

    #[test]
    fn labels_that_would_touch_are_left_out_and_decades_stay() {
        let axis = Axis::log("x", 1.0, 10.0, |value| format!("{value} very, very long"));
        let ticks = axis.spaced(&|value| axis.place(value) * 300.0, 400.0);
        assert!(ticks.len() < axis.ticks.len() && ticks.contains(&1.0) && ticks.contains(&10.0), "{ticks:?}");
    }
}
