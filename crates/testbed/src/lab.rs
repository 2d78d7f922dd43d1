//! Creates the hosts and links of a testbed inside its sandbox, and sets the rates of the links.

use crate::error::TestbedError;
use crate::plan::{Plan, interface};
use crate::sandbox::NAMES;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

/// Name of the network namespace that has the switch.
pub(crate) const SWITCH: &str = "switch";
/// Name of the network interface in every host's namespace.
pub(crate) const CARD: &str = "e0";

/// IP address of the host with the number `host`.
pub(crate) fn address(host: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, (host + 1) as u8)
}

/// Runs a command line of the operating system.
fn run(line: &str) -> Result<(), TestbedError> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output();
    let failed = |why: String| TestbedError::Command { line: line.to_owned(), why };
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Runs a command in the network namespace of a host.
pub(crate) fn run_in(name: &str, line: &str) -> Result<(), TestbedError> {
    run(&format!("nsenter --net=/run/netns/{name} {line}"))
}

/// Mounts /proc, so that the folder /proc shows the processes of the sandbox.
pub(crate) fn mount_processes() -> Result<(), TestbedError> {
    run("mount -t proc proc /proc")
}

/// Builds the network of a plan: hosts, links and rates of the links.
pub(crate) fn build(plan: &Plan) -> Result<(), TestbedError> {
    // Names of namespaces are files in /run. This mount of /run is visible only in the sandbox.
    run("mount -t tmpfs bufferlab /run")?;
    run(&format!("ip netns add {SWITCH}"))?;
    run_in(SWITCH, "ip link set lo up")?;
    set(SWITCH, "net.ipv6.conf.all.disable_ipv6", "1")?;
    for (index, host) in plan.hosts.iter().enumerate() {
        build_host(plan, index, host)?;
    }
    know_each_other(plan)?;
    let names = plan.hosts.iter().map(|host| host.name.as_str()).chain([SWITCH]);
    std::fs::write(NAMES, names.collect::<Vec<_>>().join("\n")).map_err(TestbedError::Io)
}

/// Removes the network. Removing the names of the namespaces removes the namespaces and their
/// links.
pub(crate) fn destroy() {
    // An error is ignored: open sockets may still keep a namespace. The namespace then ends with
    // the sandbox's process.
    let _ = run("umount --recursive --lazy /run");
}

fn build_host(plan: &Plan, index: usize, host: &crate::plan::Host) -> Result<(), TestbedError> {
    let (name, port) = (&host.name, interface(usize::from(host.port)));
    run(&format!("ip netns add {name}"))?;
    set(name, "net.ipv6.conf.all.disable_ipv6", "1")?;
    let mac = mac(index);
    run(&format!("ip link add {CARD} netns {name} address {mac} type veth peer name {port} netns {SWITCH}"))?;
    // Hosts must send whole frames with checksums, because a socket of the switch
    // reads the frames unchanged.
    run_in(name, &format!("ethtool -K {CARD} tx off gro off"))?;
    run_in(name, "ip link set lo up")?;
    run_in(name, &format!("ip addr add {}/24 dev {CARD}", address(index as u32)))?;
    run_in(name, &format!("ip link set {CARD} up"))?;
    run_in(SWITCH, &format!("ip link set {port} up"))?;
    // A veth link has no rate. Without a token bucket, whole windows would reach the switch
    // immediately.
    let (rate, burst) = (host.rate.0, if host.rate.0 < 300_000_000 { 3_200 } else { 8_000 });
    run_in(
        name,
        &format!(
            "tc qdisc add dev {CARD} root stab overhead 24 linklayer ethernet tbf rate {rate}bit burst {burst} limit 1500000"
        ),
    )?;
    let min_rto = plan.scenario().transports.iter().map(|transport| transport.min_rto).min();
    if let Some(min_rto) = min_rto {
        let (net, own) = ("10.77.0.0/24", address(index as u32));
        let rto = min_rto.0.div_ceil(1_000_000_000).max(1);
        run_in(name, &format!("ip route change {net} dev {CARD} src {own} rto_min {rto}ms"))?;
    }
    let has_ecn = plan.scenario().transports.iter().any(|transport| transport.ecn_capable);
    set(name, "net.ipv4.tcp_ecn", if has_ecn { "1" } else { "0" })?;
    // If the first packet of a connection is lost, Linux would use the connection without ECN.
    // Without ECN, marks would never slow the connection down.
    set(name, "net.ipv4.tcp_ecn_fallback", "0")?;
    set(name, "net.ipv4.tcp_no_metrics_save", "1")?;
    let restarts =
        plan.scenario().transports.iter().any(|one| one.persistent.is_none_or(|spec| spec.idle_restart));
    set(name, "net.ipv4.tcp_slow_start_after_idle", if restarts { "1" } else { "0" })
}

fn mac(index: usize) -> String {
    format!("02:00:00:00:00:{index:02x}")
}

/// Sets static neighbours on every host, so that hosts need no ARP.
fn know_each_other(plan: &Plan) -> Result<(), TestbedError> {
    for host in &plan.hosts {
        let others = (0..plan.hosts.len()).map(|other| {
            format!("neigh replace {} lladdr {} dev {CARD} nud permanent", address(other as u32), mac(other))
        });
        let own = plan.hosts.iter().position(|one| one.name == host.name);
        let lines: Vec<_> =
            others.enumerate().filter(|(index, _)| Some(*index) != own).map(|(_, line)| line).collect();
        let batch = PathBuf::from("/run").join(format!("neighbours-{}", host.name));
        std::fs::write(&batch, lines.join("\n") + "\n").map_err(TestbedError::Io)?;
        run_in(&host.name, &format!("ip -batch {}", batch.display()))?;
    }
    Ok(())
}

/// Sets a sysctl of a host's network namespace.
pub(crate) fn set(name: &str, knob: &str, value: &str) -> Result<(), TestbedError> {
    let failed = |error: std::io::Error| TestbedError::Command {
        line: format!("{knob} = {value} in {name}"),
        why: error.to_string(),
    };
    let (knob, value) = (knob.replace('.', "/"), value.to_owned());
    // The folder /proc/sys/net shows the network namespace of the thread that opens a file in it.
    in_network(name, move || std::fs::write(format!("/proc/sys/{knob}"), value))?.map_err(failed)
}

/// Runs `work` on a new thread in the network namespace `name`.
pub(crate) fn in_network<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, TestbedError> {
    let name = name.to_owned();
    let thread = std::thread::spawn(move || {
        join_network(&name)?;
        Ok(work())
    });
    thread.join().expect("nothing in there panics")
}

/// Moves this thread into the network namespace called `name`.
pub(crate) fn join_network(name: &str) -> Result<(), TestbedError> {
    let file = File::open(format!("/run/netns/{name}")).map_err(TestbedError::Io)?;
    nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET)
        .map_err(|error| TestbedError::Io(error.into()))
}
