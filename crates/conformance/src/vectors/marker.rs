//! How the switch of a case marks.

use super::values::param_value;
use bufferlab_core::{MARKERS, Marker, Profile, SwitchShape};
use serde::Deserialize;

/// `mark_above`, as written.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum MarkText {
    All(u64),
    ByPriority(Vec<u64>),
}

impl MarkText {
    pub(super) fn marker(&self, queues: usize) -> Result<Marker, String> {
        match self {
            Self::All(k) => Ok(Marker::step(*k)),
            Self::ByPriority(list) if list.len() == queues => Ok(Marker::steps(list)),
            Self::ByPriority(list) => {
                Err(format!("mark_above has {} thresholds for {queues} queues per port", list.len()))
            }
        }
    }
}

/// `marker`, as written: a rule of the registry with its parameters.
#[derive(Deserialize)]
pub(super) struct MarkerText {
    kind: String,
    priorities: Option<Vec<u8>>,
    #[serde(flatten)]
    params: toml::Table,
}

impl MarkerText {
    pub(super) fn marker(&self, profile: Profile, shape: &SwitchShape) -> Result<Marker, String> {
        let info = MARKERS.find(&self.kind).ok_or_else(|| {
            let known: Vec<_> = MARKERS.names().collect();
            format!("marker: no rule is called \"{}\"; known: {}", self.kind, known.join(", "))
        })?;
        let mut given = Vec::new();
        for (name, value) in &self.params {
            let param = info.params.iter().find(|param| param.name == name.as_str());
            let param = param.ok_or_else(|| format!("marker: {} has no parameter \"{name}\"", info.name))?;
            let value = param_value(param, value).map_err(|what| format!("marker: {name}: {what}"))?;
            given.push((name.clone(), value));
        }
        let mut mask = if self.priorities.is_some() { 0 } else { u32::MAX };
        for &priority in self.priorities.iter().flatten() {
            if usize::from(priority) >= shape.queues_per_port {
                return Err(format!("marker: there is no priority {priority}"));
            }
            mask |= 1 << priority;
        }
        let rule = info.construct_with(profile, &given, shape).map_err(|error| format!("marker: {error}"))?;
        Ok(Marker { rule, priorities: mask })
    }
}
