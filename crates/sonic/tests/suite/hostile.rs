//! Damaged and malicious files: the reader refuses each file clearly and uses little memory.

use crate::support::{FILES, example};
use bufferlab_sonic::{BYTES_MAX, KEYS_MAX, Reader, diff, explain, lint, read, silicon};

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
            .starts_with("config_db.json:4: BUFFER_POOL: \"p\" appears twice, first in line 2")
    );
    assert!(refusal(b"{\"BUFFER_POOL\": {}, \"BUFFER_POOL\": {}}").contains("appears twice"));
    let twice = b"{\"BUFFER_POOL\": {\"p\": {\"size\": \"1\", \"size\": \"2\"}}}";
    assert!(refusal(twice).contains("BUFFER_POOL|p: \"size\" appears twice"));
    assert!(read("notes.txt", b"some words").expect_err("no table").message.contains("unknown kind of file"));
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
fn problems_beyond_the_limit_are_counted() {
    let entries: Vec<_> = (0..1_001).map(|n| format!("\"p{n}\": {{\"size\": \"none\"}}")).collect();
    let text = format!("{{\"BUFFER_PROFILE\": {{{}}}}}", entries.join(","));
    let config = read("a.json", text.as_bytes()).expect("JSON");
    let last = config.problems.last().expect("problems").message.clone();
    assert!(config.problems.len() == 1_001 && last.contains("more values were not understood"), "{last}");
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

/// A generator of mistakes (Knuth's linear congruential generator); every run of the test makes
/// equal mistakes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Returns the text with a number, a word or a character replaced.
fn damaged(text: &str, dice: &mut Dice) -> String {
    const NUMBERS: [&str; 8] =
        ["0", "1", "7", "-8", "18446744073709551615", "9223372036854775808", "4294967296", "-1"];
    let starts: Vec<_> = text
        .char_indices()
        .zip(text.chars().skip(1))
        .filter(|((_, before), after)| !before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric())
        .map(|((at, before), _)| at + before.len_utf8())
        .collect();
    let start = starts[dice.roll(starts.len())];
    let length = text[start..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len() - start);
    let (before, word, after) = (&text[..start], &text[start..start + length], &text[start + length..]);
    let other = starts[dice.roll(starts.len())];
    let new = match dice.roll(4) {
        0 | 1 if word.bytes().all(|byte| byte.is_ascii_digit()) => NUMBERS[dice.roll(NUMBERS.len())],
        0 | 1 => text[other..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default(),
        2 => "",
        _ => "NULL",
    };
    format!("{before}{new}{after}")
}

#[test]
fn no_damage_to_a_switch_makes_reading_or_judging_it_panic() {
    let mut dice = Dice(1);
    let chips = silicon::CHIPS.iter().map(Some).chain([None]).collect::<Vec<_>>();
    let files: Vec<_> = FILES.into_iter().map(|name| (name, example(name))).collect();
    let mut read = 0;
    for _ in 0..1_500 {
        let mut reader = Reader::default();
        let victim = dice.roll(files.len());
        let times = 1 + dice.roll(4);
        for (index, (name, text)) in files.iter().enumerate() {
            let mut text = text.clone();
            for _ in 0..if index == victim { times } else { 0 } {
                text = damaged(&text, &mut dice);
            }
            let _ = reader.add(name, text.as_bytes());
        }
        let config = reader.finish();
        let chip = chips[dice.roll(chips.len())];
        let options = lint::Options { chip, ..lint::Options::default() };
        let findings = lint::check(&config, &options).expect("no allowances");
        assert!(lint::text(&findings, &lint::not_judged(&config, &options)).len() < 1_000_000);
        assert!(explain::text(&explain::explain(&config, chip)).len() < 1_000_000);
        if let Some(Ok(prediction)) = chip.map(|chip| silicon::predict(&config, chip, 64)) {
            read += 1;
            assert!(silicon::text(&prediction).len() < 1_000_000);
        }
        assert!(diff::diff(&config, &config, chip).expect("no allowances").changes.is_empty());
    }
    assert!(read > 500, "{read} predictions");
}
