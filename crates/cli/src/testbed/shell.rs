//! The command `testbed shell` opens a shell on a host of a running testbed, from another terminal.

use crate::args::TestbedShellArgs;
use crate::inform;
use bufferlab_testbed::sandbox::{Standing, standing};
use miette::miette;

/// Executes the command `testbed shell`.
pub(super) fn shell(args: &TestbedShellArgs) -> miette::Result<()> {
    let standing = standing().map_err(|error| miette!("cannot look for testbeds: {error}"))?;
    let testbed = choose(&standing, args.testbed)?;
    let (switch, hosts) = testbed.hosts.split_last().expect("it has the switch, and hosts");
    if !testbed.hosts.contains(&args.host) {
        let help = format!("hosts are {}; `{switch}` is the switch's side of all cables", in_words(hosts));
        return Err(miette!(help = help, "no host {}", args.host));
    }
    let words = if args.command.is_empty() {
        inform(&format!("{}: leave it with `exit`; it ends with the testbed", args.host));
        vec![std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned())]
    } else {
        args.command.clone()
    };
    Err(miette!("cannot start `nsenter`: {}", testbed.enter(&args.host, &words)))
}

/// The running testbed with the ID `wanted`, or the only running testbed.
fn choose(standing: &[Standing], wanted: Option<i32>) -> miette::Result<&Standing> {
    let list = || {
        let one = |testbed: &Standing| {
            let (_, hosts) = testbed.hosts.split_last().expect("it has the switch, and hosts");
            format!("{} ({})", testbed.id, in_words(hosts))
        };
        standing.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    match (standing, wanted) {
        ([], _) => {
            let help = "`bufferlab testbed up SCENARIO` builds one, and `-- sleep infinity` keeps it running; \
                        only root sees the testbeds of root";
            Err(miette!(help = help, "no testbed is running"))
        }
        (all, Some(id)) => all
            .iter()
            .find(|testbed| testbed.id == id)
            .ok_or_else(|| miette!(help = format!("there are: {}", list()), "no testbed {id}")),
        ([one], None) => Ok(one),
        (all, None) => {
            let help = format!("choose one with `--testbed {}`; there are: {}", all[0].id, list());
            Err(miette!(help = help, "{} testbeds are running", all.len()))
        }
    }
}

/// Formats a list of host names: "h0 to h7" if the names are consecutive, otherwise all names.
pub(super) fn in_words(hosts: &[String]) -> String {
    let counts_up = hosts.iter().enumerate().all(|(index, name)| *name == format!("h{index}"));
    match hosts {
        [first, .., last] if counts_up => format!("{first} to {last}"),
        _ => hosts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_count_up_are_told_by_the_first_and_the_last() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(in_words(&names("h0 h1 h2")), "h0 to h2");
        assert_eq!(in_words(&names("h0 h2")), "h0, h2");
        assert_eq!(in_words(&names("client")), "client");
    }
}
