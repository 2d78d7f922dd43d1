//! Tests the headroom of NVIDIA switches: the calculation reproduces published rows, and each other
//! row has a reason for its difference.

use crate::support::{corpus, files};
use bufferlab_sonic::explain::explain;
use bufferlab_sonic::nvidia::{table, text};
use bufferlab_sonic::read;
use bufferlab_sonic::silicon::chip_for;

#[test]
fn a_row_is_calculated_term_by_term() {
    let config = read("rows.ini", b"100000 40m 19456 19456 49152 0\n").expect("a row");
    let table = table(&config, "Mellanox-SN5640-C448O16", None).expect("a switch");
    // The headroom is 4,096 + (9,216 + 5,050.5 + 819.2 + 394 x 64 + 1,500) x 1.0615 = 48,475 B.
    // This sum is rounded up to 48 KiB.
    assert_eq!((table.rows[0].computed, table.rows[0].difference()), (49_152, 0));
    assert!(text(&table).ends_with("1 rows: 1 exact, 1 within a KiB\n"), "{}", text(&table));
}

#[test]
fn rows_that_differ_have_a_reason() {
    let rows = b"400000 1500m 0 0 427008 0\n200000 1500m 0 0 427008 0\n200000 2000m 0 0 1000 0\n10000 5m 0 0 30000 0\n";
    let config = read("rows.ini", rows).expect("rows");
    let table = table(&config, "SN4700-O8C48", None).expect("a switch");
    let why: Vec<_> = table.rows.iter().map(|row| row.why.as_str()).collect();
    assert_eq!(why[0], "the file repeats the row of 200000 Mb/s");
    assert_eq!(why[2], "less than the file has for 1500 m: an older row");
    assert!(why[3].contains("another response of the peer"), "{}", why[3]);
}

#[test]
fn what_cannot_be_calculated_is_refused() {
    let config = read("rows.ini", b"12345 5m 0 0 1 0\n").expect("a row");
    assert!(table(&config, "SN5600", None).expect_err("a speed").message.contains("rows.ini:1"));
    assert!(table(&config, "Arista", None).expect_err("a device").help.contains("spectrum4"));
    let empty = read("a.json", b"{}").expect("JSON");
    assert!(table(&empty, "SN5600", None).expect_err("no rows").message.contains("no row"));
}

#[test]
fn published_rows_are_compared_file_by_file() {
    let Some(folder) = corpus("nvidia") else { return };
    let (mut rows, mut exact, mut near, mut unexplained) = (0, 0, 0, 0);
    for path in files(&folder.join("pg_profile_lookup")) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        if !name.starts_with("mellanox") {
            continue;
        }
        let config = read(&name, &std::fs::read(&path).expect("a file that is there")).expect("rows");
        let table = table(&config, &name, None).expect("a switch");
        eprintln!("{name}\n{}", text(&table));
        rows += table.rows.len();
        exact += table.rows.iter().filter(|row| row.difference() == 0).count();
        near += table.rows.iter().filter(|row| row.difference().abs() <= 1_024).count();
        unexplained += table.rows.iter().filter(|row| row.difference() != 0 && row.why.is_empty()).count();
    }
    eprintln!("{rows} rows: {exact} exact, {near} within a KiB");
    assert!(unexplained == 0 && 100 * exact >= 60 * rows, "{exact} of {rows}");
}

#[test]
fn the_dynamic_model_is_explained_with_the_profile_that_the_switch_computes() {
    let text = r#"{
        "DEVICE_METADATA": {"localhost": {"hwsku": "Mellanox-SN4600C-C64", "buffer_model": "dynamic"}},
        "PORT": {"Ethernet0": {"speed": "100000", "lanes": "1,2,3,4", "mtu": "9100"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
        "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}},
        "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}}
    }"#;
    let config = read("config_db.json", text.as_bytes()).expect("JSON");
    let explanation = explain(&config, chip_for(&config, None).ok());
    let way = &explanation.kinds[0].ways[0];
    let headroom = way.headroom.as_ref().expect("a lossless class");
    // The example of SONiC's script has a headroom of 45,206 B, rounded up to 45 KiB. Without a
    // shared headroom pool, the script adds a margin of 2 KiB, because the headroom is below the
    // worst case of small packets.
    assert_eq!((headroom.bytes, way.limits[0].alpha.as_str()), (47 * 1_024, "1"));
    assert!(way.limits[0].profile.ends_with("(computed)"));
}
