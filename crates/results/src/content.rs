//! The content of a run: its scenario, input files and program.
//! A mean may combine only runs of equal content.

use crate::digest::sha256;
use crate::error::ResultsError;
use crate::read::RunResult;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;

/// Number of differences that a message lists. Further differences are only counted.
const SHOWN: usize = 3;

/// All input that determines the tables of a run, except the run's seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Dotted keys of the resolved scenario with their values as TOML, in the order of the file.
    keys: Vec<(String, String)>,
    /// Names of the scenario's input files, each with its SHA-256.
    inputs: Vec<(String, String)>,
    /// Version and git commit of the program that executed the run.
    program: String,
}

/// A difference between the contents of two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A key of the scenario has different values in the two runs.
    Key {
        /// Dotted key; entries of a list are numbered from 0.
        key: String,
        /// Value in the first content as TOML; `None` if the first content lacks the key.
        old: Option<String>,
        /// Value in the second content as TOML; `None` if the second content lacks the key.
        new: Option<String>,
    },
    /// An input file, such as a flow list, differs, or one of the runs has no such file.
    Input {
        /// Name of the file in the folder of the run.
        name: String,
    },
    /// Different versions of the program executed the scenario.
    Program {
        /// Version and git commit of the program that executed the first run.
        old: String,
        /// Version and git commit of the program that executed the second run.
        new: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        match self {
            Self::Key { key, old, new } => write!(f, "`{key}` was {} and is {}", value(old), value(new)),
            Self::Input { name } => write!(f, "the input file `{name}` has changed"),
            Self::Program { old, new } => write!(f, "bufferlab was {old} and is {new}"),
        }
    }
}

/// Joins differences into a message: lists the first differences and counts further differences.
#[must_use]
pub fn describe_differences(differences: &[Difference]) -> String {
    let shown: Vec<String> = differences.iter().take(SHOWN).map(ToString::to_string).collect();
    match differences.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

impl Content {
    /// Creates the content of a run from its resolved scenario, its input files and the program.
    #[must_use]
    pub fn new<C: AsRef<[u8]>>(
        scenario: &str,
        inputs: &[(String, C)],
        version: &str,
        commit: Option<&str>,
    ) -> Self {
        let inputs = inputs.iter().map(|(name, content)| (name.clone(), sha256(content.as_ref())));
        Self { keys: keys(scenario), inputs: inputs.collect(), program: program(version, commit) }
    }

    /// Reads the scenario, inputs and program version of a finished run.
    ///
    /// # Errors
    /// If the scenario or an input file is missing or damaged.
    pub fn of_run(run: &RunResult) -> Result<Self, ResultsError> {
        let manifest = run.manifest();
        let mut inputs = Vec::with_capacity(manifest.inputs.len());
        for name in &manifest.inputs {
            run.check(name)?;
            let path = run.dir().join(name);
            let bytes = fs::read(&path).map_err(ResultsError::io("read", &path))?;
            inputs.push((name.clone(), bytes));
        }
        let (version, commit) = (&manifest.bufferlab_version, manifest.git_commit.as_deref());
        Ok(Self::new(&run.scenario_toml()?, &inputs, version, commit))
    }

    /// Lists the differences between two contents, except in scenario keys for which `ignored` is
    /// true.
    #[must_use]
    pub fn differences(&self, other: &Self, ignored: impl Fn(&str) -> bool) -> Vec<Difference> {
        let values = |content: &Self| -> BTreeMap<String, String> { content.keys.iter().cloned().collect() };
        let (old, new) = (values(self), values(other));
        let mut names: Vec<&String> = self.keys.iter().map(|(key, _)| key).collect();
        names.extend(other.keys.iter().map(|(key, _)| key).filter(|key| !old.contains_key(*key)));
        let mut found: Vec<Difference> = names
            .into_iter()
            .filter(|key| !ignored(key) && old.get(*key) != new.get(*key))
            .map(|key| Difference::Key {
                key: key.clone(),
                old: old.get(key).cloned(),
                new: new.get(key).cloned(),
            })
            .collect();
        let lacks = |list: &[(String, String)], input: &(String, String)| !list.contains(input);
        let changed = self.inputs.iter().filter(|input| lacks(&other.inputs, input));
        let added = other.inputs.iter().filter(|input| lacks(&self.inputs, input));
        let mut changed: Vec<&String> = changed.chain(added).map(|(name, _)| name).collect();
        changed.sort();
        changed.dedup();
        found.extend(changed.into_iter().map(|name| Difference::Input { name: name.clone() }));
        if self.program != other.program {
            found.push(Difference::Program { old: self.program.clone(), new: other.program.clone() });
        }
        found
    }
}

impl Content {
    /// Lists the differences from a run with another seed, except for the seed itself.
    #[must_use]
    pub fn differences_between_seeds(&self, other: &Self) -> Vec<Difference> {
        self.differences(other, |key| key == "seed")
    }

    /// Lists the differences from a run of another policy, except for keys of the policy and the
    /// seed.
    #[must_use]
    pub fn differences_between_policies(&self, other: &Self) -> Vec<Difference> {
        self.differences(other, |key| key == "seed" || is_of_policy(key))
    }
}

/// Formats a version and commit as `0.9.0 (1a2b3c)`.
fn program(version: &str, commit: Option<&str>) -> String {
    commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"))
}

/// Splits a resolved scenario, which has one key per line, into dotted keys and values.
fn keys(scenario: &str) -> Vec<(String, String)> {
    let mut list: BTreeMap<String, usize> = BTreeMap::new();
    let (mut table, mut found) = (String::new(), Vec::new());
    for line in scenario.lines() {
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            let count = list.entry(name.to_owned()).or_default();
            table = format!("{name}.{count}.");
            *count += 1;
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = format!("{name}.");
        } else if let Some((key, value)) = line.split_once(" = ") {
            found.push((format!("{table}{key}"), value.to_owned()));
        } else if !line.is_empty() {
            // A resolved scenario should have no line without a key. The code compares such a line
            // as text.
            found.push((format!("{table}{line}"), String::new()));
        }
    }
    found
}

/// Two runs whose different contents exclude a common mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixture {
    /// Folder of the first run, relative to the group's folder.
    pub one: String,
    /// Folder of the second run, whose content differs from the first run's.
    pub other: String,
    /// Differences between the contents of the two runs.
    pub differences: Vec<Difference>,
}

impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { one, other, differences } = self;
        write!(
            f,
            "mixes runs of different content, so it has no mean: from {one} to {other}, {}",
            describe_differences(differences)
        )
    }
}

/// Finds two runs that must not share a mean or a paired difference. Runs of one label may differ
/// only in the seed. Runs of labels that name policies may differ only in policy and seed. A label
/// chosen by the user may stand for any change of the scenario.
///
/// # Errors
/// If the scenario or an input file of a run is missing or damaged.
pub fn find_mixture(runs: &[(String, RunResult)]) -> Result<Option<Mixture>, ResultsError> {
    let mut first_of_label: Vec<(&str, &RunResult, Content)> = Vec::new();
    for (label, run) in runs {
        let content = Content::of_run(run)?;
        let known = first_of_label.iter().find(|(name, ..)| name == label);
        let of_policy = || first_of_label.iter().find(|(name, run, _)| is_policy(name, run));
        let reference = known.or_else(|| of_policy().filter(|_| is_policy(label, run)));
        if let Some((_, one, expected)) = reference {
            let differences = match known {
                Some(_) => expected.differences_between_seeds(&content),
                None => expected.differences_between_policies(&content),
            };
            if !differences.is_empty() {
                return Ok(Some(Mixture { one: place(one), other: place(run), differences }));
            }
        }
        if known.is_none() {
            first_of_label.push((label, run, content));
        }
    }
    Ok(None)
}

/// Whether a label names just a policy, so that runs may differ only in the policy.
fn is_policy(label: &str, run: &RunResult) -> bool {
    match &run.manifest().variant {
        Some(variant) => !variant.text.contains(" + "),
        None => run.manifest().policy.name.split('+').any(|name| name == label),
    }
}

/// Beginning of a line of a resolved scenario that names the earlier value of a key. The line
/// continues with a time, a colon and the key: the run has changed the key at this time.
pub const UNTIL: &str = "# until ";

/// Whether a key of the scenario belongs to the compared policy, such as `switch.policy.alpha`.
/// Keys of a policy for single switches count, too.
fn is_of_policy(key: &str) -> bool {
    let earlier = key.strip_prefix(UNTIL).and_then(|rest| rest.split_once(": "));
    let key = earlier.map_or(key, |(_, key)| key);
    key.starts_with("switch.policy") || key.starts_with("switch_override.")
}

/// Last two parts of the path of a run's folder, such as `dt/seed-1`.
fn place(run: &RunResult) -> String {
    let mut parts: Vec<_> = run.dir().iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    parts.reverse();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "name = \"a\"\nseed = 1\n\n[switch]\nbuffer = \"1 MB\"\n\n[switch.policy]\nname = \"dt\"\n\n[[workload]]\nload = 0.2\n\n[[workload]]\nload = 0.4\n";

    fn content(scenario: &str) -> Content {
        Content::new(scenario, &[("flows.csv".to_owned(), "a")], "1.0", Some("abc"))
    }

    #[test]
    fn differences_name_key_old_and_new_value() {
        let new = SCENARIO.replace("1 MB", "2 MB").replace("0.4", "0.6").replace("seed = 1", "seed = 2");
        let found = content(SCENARIO).differences(&content(&new), |key| key == "seed");
        assert_eq!(
            describe_differences(&found),
            "`switch.buffer` was \"1 MB\" and is \"2 MB\", `workload.1.load` was 0.4 and is 0.6"
        );
    }

    #[test]
    fn input_files_programs_and_missing_keys_differ_too() {
        let longer = format!("{SCENARIO}more = 1\n");
        let other = Content::new(&longer, &[("flows.csv".to_owned(), "b")], "1.1", None);
        let found = describe_differences(&content(SCENARIO).differences(&other, |_| false));
        assert_eq!(
            found,
            "`workload.1.more` was not set and is 1, the input file `flows.csv` has changed, bufferlab was 1.0 (abc) and is 1.1"
        );
    }
}
