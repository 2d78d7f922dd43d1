//! Tests that the dump of a running switch equals the configuration in the switch's files.

use crate::server::Server;
use crate::support::switch;
use bufferlab_operator::store::{Database, Store, dumps};
use bufferlab_sonic::{Config, Reader};
use serde_json::Value;
use std::path::Path;

/// Writes the small switch to CONFIG_DB as SONiC does: keys `TABLE|key`, lists with an `@`, and
/// NULL in entries without fields.
pub(crate) fn fill(server: &Server) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sonic/switch");
    for name in ["buffers.json", "qos.json"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("the example is there");
        let tables: Value = serde_json::from_str(&text).expect("JSON");
        for (table, entries) in tables.as_object().expect("tables") {
            for (key, fields) in entries.as_object().expect("entries") {
                let fields: Vec<_> = fields.as_object().expect("fields").iter().collect();
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str().expect("a string")))
                    .collect();
                server.write(Database::Config, &format!("{table}|{key}"), &fields);
            }
        }
    }
    for (number, port) in ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"].into_iter().enumerate() {
        let lanes = number.to_string();
        server.write(Database::Config, &format!("PORT|{port}"), &[("speed", "100000"), ("lanes@", &lanes)]);
    }
}

fn read(server: &Server) -> Config {
    let mut reader = Reader::default();
    for (name, bytes) in dumps(&mut Store::new(server.address())).unwrap_or_else(|error| panic!("{error}")) {
        reader.add(&name, &bytes).unwrap_or_else(|error| panic!("{error}"));
    }
    reader.finish()
}

#[test]
fn a_running_switch_has_the_configuration_of_its_files() {
    let server = Server::start("a_running_switch_has_the_configuration_of_its_files");
    fill(&server);
    server.write(Database::Config, "FLEX_COUNTER_TABLE|QUEUE", &[("FLEX_COUNTER_STATUS", "enable")]);
    server.write(Database::State, "BUFFER_MAX_PARAM_TABLE|global", &[("mmu_size", "33554432")]);
    server.write(Database::State, "BUFFER_MAX_PARAM_TABLE|Ethernet0", &[("max_queues", "20")]);
    server.write(Database::State, "TRANSCEIVER_INFO|Ethernet0", &[("type", "QSFP28")]);
    let (running, files) = (read(&server), switch(|_, text| text));
    assert_eq!(running.mmu_size.as_ref().map(|size| size.value), Some(33_554_432));
    assert_eq!(running.problems, []);
    let sizes = |config: &Config| -> Vec<_> {
        let size = |(name, pool): (&String, &bufferlab_sonic::config::Pool)| {
            (name.clone(), pool.size.as_ref().map(|size| size.value))
        };
        config.pools.iter().map(size).collect()
    };
    assert_eq!(sizes(&running), sizes(&files));
    assert!(running.groups.keys().eq(files.groups.keys()) && running.queues.keys().eq(files.queues.keys()));
    assert_eq!(running.wred.len(), 1);
    assert!(
        running
            .cables
            .iter()
            .map(|(port, cable)| (port, cable.value))
            .eq(files.cables.iter().map(|(port, cable)| (port, cable.value)))
    );
    assert!(running.others.is_empty(), "what is not about buffers is not even fetched: {:?}", running.others);
    let port = bufferlab_sonic::PortName::new("Ethernet0");
    assert_eq!(running.ports[&port].speed_mbps.as_ref().map(|speed| speed.value), Some(100_000));
}

#[test]
fn what_runs_fills_in_what_the_configuration_leaves_to_the_switch() {
    let server = Server::start("what_runs_fills_in_what_the_configuration_leaves_to_the_switch");
    let pool = [("type", "ingress"), ("mode", "dynamic")];
    server.write(Database::Config, "BUFFER_POOL|ingress_lossless_pool", &pool);
    server.write(
        Database::Appl,
        "BUFFER_POOL_TABLE:ingress_lossless_pool",
        &[("size", "44130304"), ("xoff", "8790016")],
    );
    server.write(Database::Appl, "PORT_TABLE:Ethernet0", &[("speed", "100000")]);
    let config = read(&server);
    let pool = &config.pools["ingress_lossless_pool"];
    assert_eq!(pool.size.as_ref().map(|size| size.value), Some(44_130_304));
    assert!(pool.mode.is_some());
}

#[test]
fn a_server_that_is_gone_or_empty_is_named_with_what_to_do() {
    let mut server = Server::start("a_server_that_is_gone_or_empty_is_named_with_what_to_do");
    let error = dumps(&mut Store::new(server.address())).expect_err("it is empty");
    assert!(error.to_string().contains("CONFIG_DB") && error.message.contains("is it a switch"), "{error}");
    let mut store = Store::new(server.address());
    server.write(Database::Config, "PORT|Ethernet0", &[("speed", "100000")]);
    assert_eq!(store.fields(Database::Config, "PORT|Ethernet0").expect("it answers")["speed"], "100000");
    server.stop();
    let error = store.fields(Database::Config, "PORT|Ethernet0").expect_err("it is gone");
    assert!(error.address.contains("127.0.0.1") && !error.help().is_empty(), "{error}");
}
