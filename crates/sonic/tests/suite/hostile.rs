//! Files that nobody should write: each gets a clear refusal, and none of them much memory.

use bufferlab_sonic::{BYTES_MAX, KEYS_MAX, read};

fn refusal(bytes: &[u8]) -> String {
    let error = read("config_db.json", bytes).expect_err("a file that is refused");
    assert!(!error.help.is_empty() && error.message.len() < 300, "{error:?}");
    error.to_string()
}

#[test]
fn a_million_keys_are_refused_wherever_they_are() {
    let keys: Vec<_> = (0..1_000_000).map(|n| format!("\"k{n}\": \"1\"")).collect();
    let keys = keys.join(",");
    for text in [
        format!("{{{keys}}}"),
        format!("{{\"BUFFER_POOL\": {{{keys}}}}}"),
        format!("{{\"BUFFER_POOL\": {{\"p\": {{{keys}}}}}}}"),
        format!("{{\"OTHER\": {{{keys}}}}}"),
    ] {
        assert!(refusal(text.as_bytes()).contains(&format!("more than {KEYS_MAX} tables, keys and fields")));
    }
}

#[test]
fn deep_nesting_is_refused_or_named_and_never_a_stack_overflow() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(1_000_000), close.repeat(1_000_000));
    let list = format!("{{\"BUFFER_POOL\": {{\"p\": {{\"size\": {}}}}}}}", deep("[", "]"));
    match read("a.json", list.as_bytes()) {
        Ok(config) => {
            assert!(config.problems[0].to_string().contains("BUFFER_POOL|p.size"), "{:?}", config.problems)
        }
        Err(error) => assert!(error.message.contains("recursion limit"), "{error}"),
    }
    let objects = deep("{\"a\":", "}");
    match read("a.json", objects.as_bytes()) {
        Ok(config) => assert_eq!(config.others.len(), 1),
        Err(error) => assert!(error.message.contains("recursion limit"), "{error}"),
    }
}

#[test]
fn damaged_files_are_refused_with_their_line() {
    assert!(
        refusal(b"{\n\"BUFFER_POOL\": {\n\"p\": {\"size\": \"1\",}}}")
            .starts_with("config_db.json:3: no JSON")
    );
    assert!(refusal(b"{\"a\": 1").contains("EOF"));
    assert!(refusal(b"").starts_with("config_db.json:1: no JSON"));
    assert!(refusal(b"[1]").contains("expected an object, found a list"));
    assert!(refusal(b"{\n\"a\": \"\xff\"}").starts_with("config_db.json:2: byte 8 is not UTF-8"));
    assert!(
        refusal(b"{\"BUFFER_POOL\": {\n\"p\": {},\n\"q\": {},\n\"p\": {}}}")
            .starts_with("config_db.json:4: BUFFER_POOL: \"p\" stands twice, first in line 2")
    );
    assert!(refusal(b"{\"BUFFER_POOL\": {}, \"BUFFER_POOL\": {}}").contains("stands twice"));
    let twice = b"{\"BUFFER_POOL\": {\"p\": {\"size\": \"1\", \"size\": \"2\"}}}";
    assert!(refusal(twice).contains("BUFFER_POOL|p: \"size\" stands twice"));
    assert!(read("notes.txt", b"some words").expect_err("no table").message.contains("no kind of file"));
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_looked_at() {
    assert!(refusal(&vec![b' '; BYTES_MAX + 1]).contains("bytes; a configuration has"));
}

#[test]
fn values_of_the_wrong_type_are_named_and_the_rest_is_read() {
    let text =
        br#"{"BUFFER_POOL": {"p": {"size": {"a": 1}, "xoff": null, "type": ["ingress"], "mode": 7}, "q": []},
        "BUFFER_PROFILE": 3, "WHATEVER": "x"}"#;
    let config = read("a.json", text).expect("JSON");
    let pool = &config.pools["p"];
    assert!(pool.size.is_none() && pool.side.is_some() && pool.mode.is_none());
    assert_eq!(config.problems.len(), 6, "{:?}", config.problems);
}

#[test]
fn what_a_key_holds_is_bounded() {
    let ports = vec!["Ethernet0-Ethernet9"; 1_000].join(",");
    let text = format!("{{\"BUFFER_PG\": {{\"{ports}|0-7\": {{\"profile\": \"p\"}}}}}}");
    let config = read("a.json", text.as_bytes()).expect("JSON");
    assert!(config.problems[0].message.contains("ports in one key"), "{:?}", config.problems);
    assert!(config.problems[0].to_string().len() < 500);
}

#[test]
fn keys_that_name_a_hundred_million_queues_are_refused_one_by_one() {
    let entry =
        |n: u32| format!("\"Ethernet{}-{}|0-63\": {{\"profile\": \"p\"}}", n * 4_000, n * 4_000 + 3_999);
    let keys: Vec<_> = (0..400).map(entry).collect();
    for table in ["BUFFER_QUEUE", "QUEUE"] {
        let text = format!("{{\"{table}\": {{{}}}}}", keys.join(","));
        let config = read("a.json", text.as_bytes()).expect("JSON");
        assert!(config.queues.len().max(config.queue_settings.len()) <= KEYS_MAX);
        assert!(config.problems.iter().any(|problem| problem.message.contains("ports and numbers")));
    }
}
