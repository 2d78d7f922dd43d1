//! Which policies are there: those of this crate, and those that a program brings along.
//!
//! ```
//! use bufferlab_core::*;
//!
//! #[derive(Debug)]
//! struct Half;
//!
//! impl Policy for Half {
//!     fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
//!         let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.size);
//!         if length > buffer.shared_capacity() / 2 || !buffer.fits(arrival.size) {
//!             return Verdict::Drop(DropReason::OverThreshold);
//!         }
//!         Verdict::Admit(Account::Shared)
//!     }
//! }
//!
//! register_policy(PolicyInfo {
//!     name: "half",
//!     aliases: &[],
//!     title: "Half",
//!     summary: "Half of the buffer for every queue.",
//!     source: "An example.",
//!     cost: "O(1)",
//!     params: &[],
//!     build: &|_, _| Ok(Box::new(Half)),
//! })?;
//! assert_eq!(find_policy("half").expect("registered").title, "Half");
//! assert!(policies().len() > POLICIES.len());
//! # Ok::<(), RegisterError>(())
//! ```

use crate::params::{ParamInfo, Profile};
use crate::policy::{POLICIES, PolicyInfo};
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// In the order of registration. Entries live as long as the process, like those of [`POLICIES`], so nobody has to count references.
static OWN: RwLock<Vec<&'static PolicyInfo>> = RwLock::new(Vec::new());

/// Longest name (bytes): names are columns and folders.
const LONGEST_NAME: usize = 40;

/// Words with another meaning where a name is expected: on the command line, in a scenario's table.
const RESERVED: &[&str] = &["all", "name"];
/// Folders of results are called so.
const RESERVED_PREFIX: &str = "seed-";

/// Every policy of this process: the built-in ones, then a program's own in the order of their registration.
#[must_use]
pub fn policies() -> Vec<&'static PolicyInfo> {
    POLICIES.iter().copied().chain(own_policies()).collect()
}

/// The policies that this process has registered, in that order.
#[must_use]
pub fn own_policies() -> Vec<&'static PolicyInfo> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The policy called `name` (its short name or an alias), built in or registered.
#[must_use]
pub fn find_policy(name: &str) -> Option<&'static PolicyInfo> {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    POLICIES.iter().chain(own.iter()).copied().find(|info| is_called(info, name))
}

/// The short names of all policies, separated by commas.
pub(crate) fn known_names() -> String {
    policies().iter().map(|info| info.name).collect::<Vec<_>>().join(", ")
}

fn is_called(info: &PolicyInfo, name: &str) -> bool {
    info.name == name || info.aliases.contains(&name)
}

/// Adds a policy from outside of this crate. From then on its name works like a built-in one: in scenarios, comparisons, explanations. The
/// built-in list [`POLICIES`], the schema and the documentation stay what they are.
///
/// Register before anything runs: a scenario is read with the policies that are known then.
///
/// # Errors
/// If a name is taken or breaks the rules of names, a text is missing, or a parameter's default lies outside its domain.
pub fn register_policy(info: PolicyInfo) -> Result<&'static PolicyInfo, RegisterError> {
    add(info, false)
}

/// Like [`register_policy`], but takes the place of an own policy of the same name: for sessions in which a class is written, tried and
/// written again. Built-in policies cannot be replaced. What was built of the old one goes on.
///
/// # Errors
/// As [`register_policy`]; if one of the names belongs to another policy.
pub fn replace_policy(info: PolicyInfo) -> Result<&'static PolicyInfo, RegisterError> {
    add(info, true)
}

fn add(info: PolicyInfo, replace: bool) -> Result<&'static PolicyInfo, RegisterError> {
    check(&info)?;
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let place = own.iter().position(|known| replace && known.name == info.name);
    let others = own.iter().enumerate().filter(|(index, _)| Some(*index) != place).map(|(_, known)| known);
    for other in POLICIES.iter().chain(others) {
        let mut names = std::iter::once(&info.name).chain(info.aliases);
        if let Some(name) = names.find(|name| is_called(other, name)) {
            return Err(RegisterError::Taken { name: (*name).to_owned(), title: other.title.to_owned() });
        }
    }
    let info: &'static PolicyInfo = Box::leak(Box::new(info));
    match place {
        Some(index) => own[index] = info,
        None => own.push(info),
    }
    Ok(info)
}

/// Everything that can be judged of an entry alone.
fn check(info: &PolicyInfo) -> Result<(), RegisterError> {
    let mut seen: Vec<&str> = Vec::new();
    for &name in std::iter::once(&info.name).chain(info.aliases) {
        if let Some(why) = fault_of_name(name, '-') {
            return Err(RegisterError::Name { name: name.to_owned(), why });
        }
        if seen.contains(&name) {
            return Err(RegisterError::Name { name: name.to_owned(), why: "it is given twice" });
        }
        seen.push(name);
    }
    for (what, text) in [("title", info.title), ("summary", info.summary)] {
        if text.trim().is_empty() || text.contains('\n') {
            return Err(RegisterError::Text { policy: info.name.to_owned(), what });
        }
    }
    for (index, param) in info.params.iter().enumerate() {
        check_parameter(param, &info.params[..index]).map_err(|why| RegisterError::Parameter {
            policy: info.name.to_owned(),
            parameter: param.name.to_owned(),
            why,
        })?;
    }
    Ok(())
}

fn check_parameter(param: &ParamInfo, before: &[ParamInfo]) -> Result<(), String> {
    if let Some(why) = fault_of_name(param.name, '_') {
        return Err(why.to_owned());
    }
    if before.iter().any(|other| other.name == param.name) {
        return Err("it is declared twice".to_owned());
    }
    for profile in [Profile::Paper, Profile::Artifact] {
        param.check(param.default_in(profile)).map_err(|why| format!("its default: {why}"))?;
    }
    Ok(())
}

/// Why `name` cannot be one; `separator` joins its words.
fn fault_of_name(name: &str, separator: char) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == separator;
    if name.len() > LONGEST_NAME {
        Some("it is longer than 40 characters")
    } else if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(allowed) {
        Some(match separator {
            '-' => "names are lower-case letters and digits joined by \"-\", and begin with a letter",
            _ => "names are lower-case letters and digits joined by \"_\", and begin with a letter",
        })
    } else if RESERVED.contains(&name) || name.starts_with(RESERVED_PREFIX) {
        Some("it has another meaning")
    } else {
        None
    }
}

/// Why a policy cannot be registered.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// A name breaks the rules.
    Name {
        /// The name.
        name: String,
        /// The rule.
        why: &'static str,
    },
    /// A name belongs to another policy.
    Taken {
        /// The name.
        name: String,
        /// That policy's name in full.
        title: String,
    },
    /// A text is empty or has several lines.
    Text {
        /// The policy.
        policy: String,
        /// Which text.
        what: &'static str,
    },
    /// A parameter is declared wrong.
    Parameter {
        /// The policy.
        policy: String,
        /// The parameter.
        parameter: String,
        /// What was expected.
        why: String,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, why } => write!(f, "no policy can be called \"{name}\": {why}"),
            Self::Taken { name, title } => {
                write!(f, "the name \"{name}\" belongs to the policy {title}; choose another")
            }
            Self::Text { policy, what } => {
                write!(f, "policy \"{policy}\": the {what} must be one line that says something")
            }
            Self::Parameter { policy, parameter, why } => {
                write!(f, "policy \"{policy}\": parameter \"{parameter}\": {why}")
            }
        }
    }
}

impl std::error::Error for RegisterError {}
