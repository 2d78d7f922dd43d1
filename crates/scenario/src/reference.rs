//! The reference of the format as Markdown, for `docs/scenarios.md`.

use crate::format::{
    BURST, CHANGE, ECN, FAULT, HARDWARE, HOST, OTHER_BURST, OUTPUT, PFC, PROFILE, ROOT, ROUTE,
    SCHEDULER_GROUP, SWITCH, SWITCH_OVERRIDE, TOPOLOGY, TRACE_ADDRESS, TRANSPORT, WATCHDOG, WORKLOAD,
};
use bufferlab_core::{POLICIES, Profile};
use bufferlab_document::reference::table;
use bufferlab_transport::{CONGESTION_CONTROLS, UNRESPONSIVE};
use bufferlab_workload::BUILTIN_SIZES;
use std::fmt::Write;

/// Every table, key, unit and default of the format; policies and built-in size distributions.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    let tables = [
        &ROOT,
        &TOPOLOGY,
        &CHANGE,
        &ROUTE,
        &SWITCH,
        &ECN,
        &PROFILE,
        &PFC,
        &WATCHDOG,
        &HARDWARE,
        &SCHEDULER_GROUP,
        &SWITCH_OVERRIDE,
        &TRANSPORT,
        &HOST,
        &WORKLOAD,
        &OTHER_BURST,
        &BURST,
        &TRACE_ADDRESS,
        &FAULT,
        &OUTPUT,
    ];
    for spec in tables {
        table(&mut text, spec);
    }
    policies(&mut text);
    let _ = writeln!(text, "### Congestion controls\n\n| name | what | source |\n|---|---|---|");
    for info in CONGESTION_CONTROLS {
        let _ = writeln!(text, "| `{}` | {}. {} | {} |", info.name, info.title, info.summary, info.source);
    }
    let _ = writeln!(
        text,
        "| `{UNRESPONSIVE}` | Open loop. Packets leave at a rate, whatever becomes of them. | UDP, traffic generators |"
    );
    text.push('\n');
    let _ = writeln!(text, "### Built-in flow sizes\n\n| name | what | source |\n|---|---|---|");
    for sizes in BUILTIN_SIZES {
        let _ = writeln!(text, "| `{}` | {} | {} |", sizes.name, sizes.summary, sizes.source);
    }
    text
}

fn policies(text: &mut String) {
    let _ = writeln!(
        text,
        "### Policies\n\nFrom the registry. Where two defaults are given, the second one holds under `profile = \"artifact\"`.\n"
    );
    for info in POLICIES {
        let aliases = match info.aliases {
            [] => String::new(),
            names => format!(
                " (also {})",
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        let _ = writeln!(
            text,
            "**`{}`**{aliases}: {}. {} {}\n",
            info.name, info.title, info.summary, info.source
        );
        if info.params.is_empty() {
            continue;
        }
        let _ = writeln!(text, "| parameter | value | default | meaning |\n|---|---|---|---|");
        for param in info.params {
            let artifact = param.default_in(Profile::Artifact);
            let artifact = if *artifact == param.default { String::new() } else { format!("; `{artifact}`") };
            let _ = writeln!(
                text,
                "| `{}` | {} | `{}`{artifact} | {} |",
                param.name,
                param.expected().strip_prefix("a ").unwrap_or(&param.expected()),
                param.default,
                param.documentation()
            );
        }
        text.push('\n');
    }
}
