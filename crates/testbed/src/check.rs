//! Checks whether this machine meets the testbed's requirements, and gives advice for installing.

use crate::dctcp;
use crate::machine::find;
use std::path::Path;
use std::process::{Command, Stdio};

/// A requirement of the testbed, and whether the machine meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the required program or kernel feature.
    pub what: &'static str,
    /// Whether the machine meets the requirement of the testbed.
    pub is_there: bool,
    /// Whether the testbed cannot run without this requirement.
    pub is_needed: bool,
    /// Advice for the user if the requirement is missing.
    pub advice: &'static str,
}

/// Checks all requirements of running a testbed.
#[must_use]
pub fn check() -> Vec<Finding> {
    let finding = |what, is_there, is_needed, advice| Finding { what, is_there, is_needed, advice };
    vec![
        finding("Linux", cfg!(target_os = "linux"), true, "the testbed is made of namespaces of Linux"),
        program("ip", "hosts and links", "apt-get install iproute2"),
        program("tc", "rates of hosts", "apt-get install iproute2"),
        program("ethtool", "checksums and segments by the hosts' kernels", "apt-get install ethtool"),
        program("unshare", "namespaces", "apt-get install util-linux"),
        program("mount", "private folders", "apt-get install mount"),
        finding(
            "namespaces: the right to make them",
            may_unshare(),
            true,
            "run it as root, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1",
        ),
        finding(
            "token bucket (sch_tbf)",
            has_token_bucket(),
            true,
            "a kernel with CONFIG_NET_SCH_TBF: `modprobe sch_tbf`",
        ),
        finding(
            "real-time priority",
            may_be_real_time(),
            false,
            "without it other programs delay frames by milliseconds, and runs are inconclusive: run it as root, or allow it \
             (`ulimit -r 50`, or CAP_SYS_NICE)",
        ),
        optional("iperf3", "apt-get install iperf3"),
        optional("memcached", "apt-get install memcached"),
        finding(
            "DCTCP",
            has_dctcp() || dctcp::missing().is_none(),
            false,
            dctcp::missing().unwrap_or_default(),
        ),
    ]
}

fn program(name: &'static str, _: &str, advice: &'static str) -> Finding {
    Finding { what: name, is_there: find(name), is_needed: true, advice }
}

/// Checks for a program that only some runs need (`host.applications`).
fn optional(name: &'static str, advice: &'static str) -> Finding {
    Finding { is_needed: false, ..program(name, "", advice) }
}

/// Whether the kernel of this machine has a built-in DCTCP.
pub(crate) fn has_dctcp() -> bool {
    kernel_controls().iter().any(|name| name == dctcp::NAME)
}

/// Names of the congestion controls that the kernel has.
pub(crate) fn kernel_controls() -> Vec<String> {
    let path = Path::new("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether a command succeeds inside new Linux namespaces.
fn in_namespaces(command: &[&str]) -> bool {
    let flags: &[&str] = if crate::machine::is_root() { &[] } else { &["--user", "--map-root-user"] };
    let status = Command::new("unshare")
        .args(flags)
        .args(["--mount", "--net", "--pid", "--fork", "--"])
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn may_unshare() -> bool {
    in_namespaces(&["true"])
}

/// Whether commands of this user may have the switch's real-time priority, in namespaces if needed.
fn may_be_real_time() -> bool {
    in_namespaces(&["chrt", "--fifo", "50", "true"])
}

fn has_token_bucket() -> bool {
    let set = "ip link set lo up && tc qdisc add dev lo root tbf rate 1mbit burst 3200 limit 10000";
    in_namespaces(&["sh", "-c", set])
}
