//! How the switch of a case marks.

use bufferlab_core::{Choice, MarkerConfig, SharedBufferCondition, Weight};
use serde::Deserialize;

/// `mark_above`, as written.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum MarkText {
    All(u64),
    ByPriority(Vec<u64>),
}

impl MarkText {
    pub(super) fn config(&self, queues: usize) -> Result<MarkerConfig, String> {
        match self {
            Self::All(k) => Ok(MarkerConfig::step(*k)),
            Self::ByPriority(list) if list.len() == queues => Ok(MarkerConfig::steps(list)),
            Self::ByPriority(list) => {
                Err(format!("mark_above has {} thresholds for {queues} queues per port", list.len()))
            }
        }
    }
}

/// `marker`, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkerText {
    kmin: Option<u64>,
    kmax: Option<u64>,
    #[serde(default = "always")]
    pmax: f64,
    scope: Option<String>,
    at: Option<String>,
    priorities: Option<Vec<u8>>,
    #[serde(default)]
    by_priority: Vec<(u64, u64)>,
    shared: Option<SharedText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SharedText {
    floor: u64,
    factor: f64,
}

const fn always() -> f64 {
    1.0
}

impl MarkerText {
    pub(super) fn config(&self, queues: usize) -> Result<MarkerConfig, String> {
        let kmin = self.kmin.unwrap_or(u64::MAX);
        let kmax = self.kmax.unwrap_or(kmin);
        let is_ordered = |(least, most): &(u64, u64)| least <= most;
        if !is_ordered(&(kmin, kmax)) || !self.by_priority.iter().all(is_ordered) {
            return Err("marker: kmin is above kmax".to_owned());
        }
        if !(0.0..=1.0).contains(&self.pmax) {
            return Err(format!("marker: pmax = {}; expected a probability", self.pmax));
        }
        let scope = choice("scope", self.scope.as_deref())?;
        let at = choice("at", self.at.as_deref())?;
        let mut mask = if self.priorities.is_some() { 0 } else { u32::MAX };
        for &priority in self.priorities.iter().flatten() {
            if usize::from(priority) >= queues {
                return Err(format!("marker: there is no priority {priority}"));
            }
            mask |= 1 << priority;
        }
        let shared = self.shared.as_ref().map(|shared| SharedBufferCondition {
            floor: shared.floor,
            factor: Weight::from_f64(shared.factor),
        });
        let by_priority = self.by_priority.clone();
        Ok(MarkerConfig { kmin, kmax, pmax: self.pmax, scope, at, priorities: mask, by_priority, shared })
    }
}

/// The value that `key` is written with; the default where it is not.
fn choice<T: Choice + Default>(key: &str, written: Option<&str>) -> Result<T, String> {
    let Some(word) = written else { return Ok(T::default()) };
    let known = || T::WORDS.iter().map(|word| word.name).collect::<Vec<_>>().join(" or ");
    T::from_word(word).ok_or_else(|| format!("marker: {key} = \"{word}\"; expected {}", known()))
}
