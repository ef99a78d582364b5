//! What goes to the terminal: data on standard output, words for people on standard error, colours only where there is one.

use std::fmt::Write as _;
use std::io::Write as _;

use owo_colors::{OwoColorize as _, Style};
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Form of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Prints lines of text to standard output. Colour codes are taken out where it is not a terminal.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has seen enough, as `head` does, is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// Prints a value as JSON with a newline. What could drive or deceive a terminal stands in it as JSON escapes.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = escaped_json(&serde_json::to_string_pretty(value)?);
    text.push('\n');
    print(&text)
}

fn escaped_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if character == '\n' || !is_disguise(character) {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(escaped, "\\u{unit:04x}").expect("writing to a string does not fail");
            }
        }
    }
    escaped
}

/// Says something to people on standard error.
pub(crate) fn say(text: &str) {
    let mut err = anstream::stderr().lock();
    // Nobody is left to be told when standard error is gone.
    drop(writeln!(err, "{text}"));
}

/// Says something to programs on standard error: one line of JSON.
pub(crate) fn say_json(value: &impl Serialize) -> Result<(), Failure> {
    say(&escaped_json(&serde_json::to_string(value)?));
    Ok(())
}

/// Says what went wrong and what to do next.
pub(crate) fn say_error(message: &str, hint: Option<&str>) {
    say(&format!(
        "{} {}",
        "error:".style(Style::new().red().bold()),
        shown(message)
    ));
    if let Some(hint) = hint {
        say(&format!("{} {hint}", "next:".style(Style::new().bold())));
    }
}

/// Recorded text made safe for a terminal: control, bidirectional and invisible characters are shown as escapes, so that a
/// record cannot move the cursor, recolour or reorder what an auditor reads.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || !is_disguise(character) {
            shown.push(character);
        } else {
            write!(shown, "\\u{{{:x}}}", u32::from(character))
                .expect("writing to a string does not fail");
        }
    }
    shown
}

/// One line of recorded text, cut to a number of characters.
pub(crate) fn excerpt(text: &str, characters: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(characters).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("{}{more}", shown(&cut))
}

/// What pages show as an escape, and the tab, which would break a table's columns.
fn is_disguise(character: char) -> bool {
    character == '\t' || remembrancer_web::is_deceptive(character)
}

/// A table with left-aligned columns, as wide as their widest cell.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([heading[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut text = format!(
        "{}\n",
        line(&mut heading.iter().copied()).style(Style::new().bold())
    );
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
        text.push('\n');
    }
    text
}

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

impl LogFormat {
    /// The form as it is written.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Checks the filter of a log.
pub(crate) fn log_filter(filter: &str) -> Result<String, String> {
    EnvFilter::try_new(filter).map_err(|error| format!("not a log filter: {error}"))?;
    Ok(filter.to_owned())
}

/// Starts the log on standard error. Bodies and keys are never logged, at any level.
pub(crate) fn start_log(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Failure::new(format!("--log {filter:?} is not a log filter: {error}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}

/// A progress bar on standard error; invisible where that is not a terminal.
pub(crate) fn progress(total: u64, what: &'static str) -> indicatif::ProgressBar {
    let style =
        indicatif::ProgressStyle::with_template("{msg} [{bar:30}] {human_pos}/{human_len} ({eta})")
            .expect("a constant template")
            .progress_chars("=> ");
    indicatif::ProgressBar::new(total)
        .with_style(style)
        .with_message(what)
}

/// A progress bar over bytes on standard error; invisible where that is not a terminal.
pub(crate) fn byte_progress(total: u64, what: &'static str) -> indicatif::ProgressBar {
    let style =
        indicatif::ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} ({eta})")
            .expect("a constant template")
            .progress_chars("=> ");
    indicatif::ProgressBar::new(total)
        .with_style(style)
        .with_message(what)
}

/// A counter on standard error, for work of unknown length; invisible where that is not a terminal.
pub(crate) fn counter(what: &'static str) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("{spinner} {human_pos} {msg} ({elapsed})")
        .expect("a constant template");
    indicatif::ProgressBar::new_spinner()
        .with_style(style)
        .with_message(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_text_cannot_drive_the_terminal() {
        assert_eq!(
            shown("a\u{1b}[31mb\u{202e}c\u{e0041}"),
            "a\\u{1b}[31mb\\u{202e}c\\u{e0041}"
        );
        assert_eq!(shown("two\nlines é"), "two\nlines é");
        assert_eq!(excerpt("one\n  two three", 7), "one two…");
    }

    #[test]
    fn a_table_is_as_wide_as_its_cells() {
        let rows = [
            vec!["aé".to_owned(), "1".to_owned()],
            vec!["b".to_owned(), "22".to_owned()],
        ];
        let text = anstream::adapter::strip_str(&table(&["name", "n"], &rows)).to_string();
        assert_eq!(text, "name  n\naé    1\nb     22\n");
    }
}
