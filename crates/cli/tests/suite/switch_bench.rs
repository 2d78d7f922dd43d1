//! A test bench with a switch of real packets between two hosts,
//! in namespaces that end with the bench.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_bufferlab");

/// Script that sets up hosts h1 and h2 (10.0.0.1 and 10.0.0.2) behind eth1 and eth2,
/// and a small disk.
const NETWORK: &str = r"set -e
mount -t tmpfs none /run
mkdir /run/full
mount -t tmpfs -o size=256k none /run/full
ip link set lo up
for n in 1 2; do
    ip netns add h$n
    ip link add eth$n type veth peer name e0 netns h$n
    nsenter --net=/run/netns/h$n sh -ec 'ip link set lo up; ip addr add 10.0.0.'$n'/24 dev e0; ip link set e0 up
        echo 0 > /proc/sys/net/ipv4/icmp_ratelimit'
    ip link set eth$n up
done
";

/// A running switch and the folder of its files.
pub(crate) struct Bench {
    child: Child,
    pub(crate) folder: TempDir,
}

/// Longest time for which the bench waits for a condition.
const PATIENCE: Duration = Duration::from_secs(20);

impl Bench {
    /// Starts a switch of `ports` with the arguments `args`, and waits until the switch forwards
    /// frames. `more` is a script that first runs in the switch's network.
    pub(crate) fn start(ports: [&str; 2], more: &str, args: &str) -> Self {
        let bench = Self::begin(ports, more, args);
        bench.until("it forwards", || bench.errors().contains("forwards between"));
        bench
    }

    /// Starts a switch, and returns before the switch forwards frames.
    pub(crate) fn begin(ports: [&str; 2], more: &str, args: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = |name: &str| format!("[[port]]\ninterface = \"{name}\"\nrate = \"100 Mb/s\"\n");
        let text = format!(
            "{}{}[switch]\nbuffer = \"20 KB\"\npolicy = \"dt\"\n[forwarding]\ndelay = \"1 ms\"\n",
            port(ports[0]),
            port(ports[1])
        );
        std::fs::write(folder.path().join("switch.toml"), text).expect("writable");
        let script = format!("{NETWORK}{more}\nexec '{PROGRAM}' switch switch.toml {args}");
        let output = |name| File::create(folder.path().join(name)).expect("writable");
        // Tests under nohup ignore SIGHUP, and so do their child processes.
        let mut unshare = Command::new("env");
        unshare.args(["--default-signal=HUP", "unshare"]);
        if !is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        unshare.args(["--mount", "--net", "--propagation", "private", "sh", "-c", &script]);
        unshare.current_dir(folder.path()).stdin(Stdio::null());
        let child = unshare.stdout(output("stdout")).stderr(output("stderr")).spawn().expect("it starts");
        Self { child, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("it is there")
    }

    /// Text that the switch has written to standard error.
    pub(crate) fn errors(&self) -> String {
        self.read("stderr")
    }

    /// Text that the switch has written to standard output.
    pub(crate) fn printed(&self) -> String {
        self.read("stdout")
    }

    /// Waits until the condition `is_so` becomes true, and names `what` if the wait is too long.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(
                since.elapsed() < PATIENCE,
                "not so in time: {what}; {}{}",
                self.errors(),
                self.printed()
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Runs a script in the network of the switch.
    pub(crate) fn here(&self, script: &str) -> Output {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["--target", &self.id().to_string(), "--mount", "--net"]);
        if !is_root() {
            nsenter.args(["--user", "--preserve-credentials"]);
        }
        nsenter.arg("bash").args(["-c", script]).stdin(Stdio::null()).output().expect("it starts")
    }

    /// Runs a shell script on a host of the bench.
    pub(crate) fn at(&self, host: &str, script: &str) -> String {
        let quoted = script.replace('\'', "'\\''");
        let output = self.here(&format!("nsenter --net=/run/netns/{host} bash -c '{quoted}'"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Sends a number of datagrams of 1,400 B from h1 to h2, where no process listens.
    pub(crate) fn send(&self, datagrams: usize) {
        let send =
            "x=$(printf %01400d 0); for ((i = 0; i < COUNT; i++)); do echo $x > /dev/udp/10.0.0.2/9; done";
        self.at("h1", &send.replace("COUNT", &datagrams.to_string()));
    }

    /// Reads a counter of the kernel on a host (/proc/net/snmp), such as `Udp NoPorts`.
    pub(crate) fn counter(&self, host: &str, protocol: &str, name: &str) -> u64 {
        let text = self.at(host, "cat /proc/net/snmp");
        let mut lines = text.lines().filter(|line| line.starts_with(&format!("{protocol}:")));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let mut pairs = names.split(' ').zip(values.split(' '));
        pairs.find(|(one, _)| *one == name).expect("it is counted").1.parse().expect("a count")
    }

    /// Sends a signal such as `TERM` to the process of the switch.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(status.expect("it starts").success());
    }

    /// Waits until the process of the switch has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "it does not end: {}", self.errors());
            sleep(Duration::from_millis(20));
        }
    }

    /// Result of `switch --verify` for a record in the folder.
    pub(crate) fn verify(&self, record: &str) -> (bool, String, String) {
        verify(&self.path(record))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `switch --verify`, and returns whether the command succeeded, its stdout and its stderr.
pub(crate) fn verify(record: &Path) -> (bool, String, String) {
    let output = Command::new(PROGRAM).args(["switch", "--verify"]).arg(record).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// Whether these tests run as root; nothing can remove the rights of root.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("it starts");
    output.stdout == b"0\n"
}
