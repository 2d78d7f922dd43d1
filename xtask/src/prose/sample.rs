//! Draws a random sample of texts for a person to judge.

use super::passages;
use super::text::{Kind, Passage};
use bufferlab_units::RandomStream;

/// Number of comment lines in a sample of texts.
const COMMENTS: usize = 130;
/// Number of sentences of pages and help texts in a sample of texts.
const SENTENCES: usize = 60;

/// Draws a sample of texts with a seed: lines of comments and docstrings, then sentences of pages
/// and help texts. Every text is printed with its file and line.
///
/// # Errors
/// If the files cannot be listed.
pub fn sample(seed: u64) -> Result<(Vec<String>, Vec<String>), String> {
    let passages = passages()?;
    let is_comment = |passage: &&Passage| matches!(passage.kind, Kind::Doc | Kind::Comment);
    let comments = passages.iter().filter(is_comment).flat_map(|passage| {
        let lines = passage.lines.iter().filter(|line| has_words(&line.text));
        lines.map(|line| format!("{}:{}: {}", passage.file, line.number, line.text))
    });
    let sentences = passages.iter().filter(|passage| !is_comment(passage)).flat_map(|passage| {
        let sentences = passage.sentences().into_iter().filter(|(_, text)| has_words(text));
        sentences.map(|(line, text)| format!("{}:{}: {text}", passage.file, line.number))
    });
    Ok((drawn(comments.collect(), COMMENTS, seed), drawn(sentences.collect(), SENTENCES, seed)))
}

/// Prints the sample of texts that a seed selects.
///
/// # Errors
/// The errors of [`sample`].
pub fn show(seed: u64) -> Result<(), String> {
    let (comments, sentences) = sample(seed)?;
    println!("sample of seed {seed}: {} lines of comments", comments.len());
    comments.iter().for_each(|line| println!("{line}"));
    println!("\n{} sentences of pages and help texts", sentences.len());
    sentences.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Whether a text has at least three words, so that a person can judge it.
fn has_words(text: &str) -> bool {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() >= 3
}

/// Draws `count` different entries of a list at random.
fn drawn(mut all: Vec<String>, count: usize, seed: u64) -> Vec<String> {
    let mut stream = RandomStream::new(seed, "prose", 0);
    let count = count.min(all.len());
    for at in 0..count {
        let other = at + stream.below((all.len() - at) as u64) as usize;
        all.swap(at, other);
    }
    all.truncate(count);
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_has_nothing_twice() {
        let all: Vec<_> = (0..500).map(|number| format!("{number:03}")).collect();
        let one = drawn(all.clone(), 50, 7);
        assert_eq!(one, drawn(all.clone(), 50, 7));
        assert_ne!(one, drawn(all.clone(), 50, 8));
        let mut distinct = one.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), 50);
        assert_eq!(drawn(all[..3].to_vec(), 50, 7).len(), 3);
    }
}
