//! Reads the classifier and the marking rule of the switch in a case.

use super::values::given;
use bufferlab_core::{CLASSIFIERS, Classifier, MARKERS, Marker, Params, Profile, SwitchShape};
use serde::Deserialize;

/// Value of the key `mark_above`: one threshold, or a threshold per priority.
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

/// Key `marker` of a case, as written in the file: a registered rule with its parameters.
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
        let given = given("marker: ", (info.name, info.params), &self.params)?;
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

/// Key `classifier` of a case, as written in the file: a registered classifier with its parameters.
#[derive(Deserialize)]
pub(super) struct ClassifierText {
    name: String,
    #[serde(flatten)]
    params: toml::Table,
}

impl ClassifierText {
    pub(super) fn classifier(&self, profile: Profile, queues_per_port: usize) -> Result<Classifier, String> {
        let info = CLASSIFIERS.find(&self.name).ok_or_else(|| {
            let known: Vec<_> = CLASSIFIERS.names().collect();
            format!("classifier: none is called \"{}\"; known: {}", self.name, known.join(", "))
        })?;
        let given = given("classifier: ", (info.name, info.params), &self.params)?;
        let params =
            Params::resolve(info.params, profile, &given).map_err(|error| format!("classifier: {error}"))?;
        info.construct(&params, queues_per_port).map_err(|error| format!("classifier: {error}"))
    }
}
