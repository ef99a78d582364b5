//! `remembrancer bench`

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use owo_colors::{OwoColorize as _, Style};
use remembrancer_replay::analysis::{AlterationKind, PresenceState};
use remembrancer_replay::labelled::{Case, Class, Label, Tally};
use serde::Serialize;

use crate::failure::Failure;
use crate::terminal::{self, Format, excerpt};

/// Longest line of a labelled set.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most cases of one set.
const CASES_MAX: usize = 100_000;
/// Cases told wrongly that the text output lists; JSON has them all.
const WRONG_SHOWN: usize = 20;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    measure: Measure,
}

/// What is measured.
#[derive(clap::Subcommand)]
enum Measure {
    /// How well the presence states tell what became of a constraint
    ///
    /// Reads a set of labelled contexts, one JSON object a line, and judges each as a session's context is judged. Two forms are
    /// known: pairs with "constraint", "compacted" and "`human_present`", and cases with "invariant", "after" (messages) and
    /// "label" (preserved, paraphrased, weakened, mutated, contradicted, dropped). Prints labels against states, and precision
    /// and recall of three classes: kept (verbatim, matched, partial), altered, and gone (every other state).
    Presence(PresenceArgs),
}

/// Arguments of `bench presence`.
#[derive(clap::Args)]
struct PresenceArgs {
    /// File of labelled contexts, one JSON object a line
    #[arg(long, value_name = "FILE")]
    labelled: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let Measure::Presence(args) = &args.measure;
    let cases = read(&args.labelled)?;
    let bar = terminal::progress(cases.len() as u64, "judging");
    let judged: Vec<Judged> = cases
        .into_iter()
        .map(|case| {
            bar.inc(1);
            Judged::of(case)
        })
        .collect();
    bar.finish_and_clear();
    let mut tally = Tally::default();
    for case in &judged {
        tally.add(case.known, case.state);
    }
    match args.format {
        Format::Json => terminal::print_json(&Report::new(judged, &tally)),
        Format::Text => terminal::print(&text(&judged, &tally)),
    }
}

/// A case with how it came out.
#[derive(Debug, Serialize)]
struct Judged {
    id: String,
    label: &'static str,
    state: PresenceState,
    /// How a restatement differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    altered: Option<AlterationKind>,
    /// What was found, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip)]
    known: Label,
    #[serde(skip)]
    constraint: String,
}

impl Judged {
    fn of(case: Case) -> Self {
        let presence = case.judge();
        let strongest = presence.evidence.first();
        let alteration = strongest.and_then(|place| place.alteration.as_deref());
        let evidence = match alteration {
            Some(alteration) => Some(format!("{}: {}", alteration.difference, alteration.said)),
            None => strongest.and_then(|place| place.note.clone()),
        };
        Self {
            id: case.id,
            label: case.label.as_str(),
            // A case is one text, declared from its first turn on.
            state: presence.state.unwrap_or(PresenceState::Unknown),
            altered: alteration
                .map(|alteration| alteration.kind)
                .filter(|_| presence.state == Some(PresenceState::Altered)),
            evidence,
            known: case.label,
            constraint: case.constraint,
        }
    }

    fn is_wrong(&self) -> bool {
        Class::of_label(self.known) != Class::of_state(self.state)
    }
}

/// The whole result, for programs.
#[derive(Serialize)]
struct Report {
    cases: Vec<Judged>,
    /// By label: how many cases came out in each state.
    totals: Vec<Totals>,
    classes: Vec<Told>,
}

#[derive(Serialize)]
struct Totals {
    label: &'static str,
    cases: u64,
    states: Vec<Count>,
}

#[derive(Serialize)]
struct Count {
    state: PresenceState,
    cases: u64,
}

/// How well one class is told.
#[derive(Serialize)]
struct Told {
    class: &'static str,
    /// Of the cases told as this class, the share that is; absent where none is told so.
    precision: Option<f64>,
    /// Of the cases of this class, the share told so; absent where there is none.
    recall: Option<f64>,
}

impl Report {
    fn new(cases: Vec<Judged>, tally: &Tally) -> Self {
        let totals = |label: Label| Totals {
            label: label.as_str(),
            cases: tally.labelled(label),
            states: PresenceState::ALL
                .into_iter()
                .map(|state| Count {
                    state,
                    cases: tally.count(label, state),
                })
                .collect(),
        };
        let told = |class: Class| Told {
            class: class.as_str(),
            precision: share(tally.precision(class)),
            recall: share(tally.recall(class)),
        };
        Self {
            totals: labels(tally).map(totals).collect(),
            classes: Class::ALL.into_iter().map(told).collect(),
            cases,
        }
    }
}

/// The labels that the set has.
fn labels(tally: &Tally) -> impl Iterator<Item = Label> {
    Label::ALL
        .into_iter()
        .filter(|label| tally.labelled(*label) > 0)
}

fn share((part, whole): (u64, u64)) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn text(judged: &[Judged], tally: &Tally) -> String {
    let mut heading = vec!["label", "cases"];
    heading.extend(PresenceState::ALL.map(PresenceState::as_str));
    let row = |label: Label| {
        let mut row = vec![label.as_str().to_owned(), tally.labelled(label).to_string()];
        row.extend(
            PresenceState::ALL.map(|state| match tally.count(label, state) {
                0 => "-".to_owned(),
                count => count.to_string(),
            }),
        );
        row
    };
    let mut text = terminal::table(&heading, &labels(tally).map(row).collect::<Vec<_>>());
    let of = |(part, whole): (u64, u64)| match share((part, whole)) {
        Some(share) => format!("{part}/{whole} ({:.1} %)", share * 100.0),
        None => "-".to_owned(),
    };
    let told = |class: Class| {
        vec![
            class.as_str().to_owned(),
            of(tally.precision(class)),
            of(tally.recall(class)),
        ]
    };
    text.push('\n');
    text.push_str(&terminal::table(
        &["class", "precision", "recall"],
        &Class::ALL.map(told),
    ));
    text.push_str(
        "\nkept: labels present, preserved, paraphrased; states verbatim, matched, partial. altered: labels weakened, mutated,\n\
         contradicted; state altered. gone: labels absent, dropped; states mention, no_trace, opaque, unknown.\n",
    );
    let wrong: Vec<&Judged> = judged.iter().filter(|case| case.is_wrong()).collect();
    if !wrong.is_empty() {
        let count = format!(
            "{} of {} cases are told as another class:",
            wrong.len(),
            judged.len()
        );
        text.push_str(&format!("\n{}\n", count.style(Style::new().bold())));
    }
    for case in wrong.iter().take(WRONG_SHOWN) {
        let evidence = case.evidence.as_deref().unwrap_or("nothing found");
        text.push_str(&format!(
            "{}: labelled {}, {}: {} / {}\n",
            excerpt(&case.id, 60),
            case.label,
            case.state.as_str().style(Style::new().yellow()),
            excerpt(&case.constraint, 80),
            excerpt(evidence, 120)
        ));
    }
    if wrong.len() > WRONG_SHOWN {
        text.push_str(&format!(
            "{} more; --format json has them all\n",
            wrong.len() - WRONG_SHOWN
        ));
    }
    text
}

fn read(path: &Path) -> Result<Vec<Case>, Failure> {
    let file = File::open(path).map_err(|error| {
        Failure::new(format!("{} cannot be read: {error}", path.display()))
            .hint("give --labelled a file of labelled contexts, one JSON object a line")
    })?;
    let mut lines = BufReader::new(file);
    let mut cases = Vec::new();
    for number in 1_usize.. {
        let mut line = Vec::new();
        let length = lines
            .by_ref()
            .take(LINE_BYTES_MAX + 1)
            .read_until(b'\n', &mut line)
            .map_err(|error| wrong(path, number, &error.to_string()))?;
        if length == 0 {
            break;
        }
        if length as u64 > LINE_BYTES_MAX {
            return Err(wrong(path, number, "it is longer than 16 MiB"));
        }
        if cases.len() == CASES_MAX {
            return Err(wrong(path, number, "a set has at most 100,000 cases"));
        }
        let line =
            std::str::from_utf8(&line).map_err(|_| wrong(path, number, "it is not UTF-8"))?;
        if line.trim().is_empty() {
            continue;
        }
        let case = Case::parse(line).map_err(|error| wrong(path, number, &error.to_string()))?;
        cases.push(case);
    }
    if cases.is_empty() {
        return Err(Failure::new(format!("{} holds no case", path.display()))
            .hint("give --labelled a file of labelled contexts, one JSON object a line"));
    }
    Ok(cases)
}

fn wrong(path: &Path, line: usize, why: &str) -> Failure {
    Failure::new(format!("{}, line {line}: {why}", path.display())).hint(
        "correct or remove that line; `remembrancer bench presence --help` tells which fields a line has",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines).unwrap();
        file
    }

    const PAIR: &str = r#"{"id":"p","constraint":"Never shout at customers.","compacted":"Never shout at customers.","human_present":true}"#;

    #[test]
    fn a_line_that_is_no_case_is_named_with_its_file_and_number() {
        let file = file(&format!("{PAIR}\n\n{{}}\n"));
        let (message, hint) = read(file.path()).unwrap_err().into_words();
        assert!(message.contains("line 3") && message.contains(&*file.path().to_string_lossy()));
        assert!(hint.is_some_and(|hint| hint.contains("line")));
    }

    #[test]
    fn a_set_without_a_case_is_none() {
        let (message, _) = read(file("\n").path()).unwrap_err().into_words();
        assert!(message.contains("holds no case"), "{message}");
    }

    #[test]
    fn the_text_says_what_was_told_wrongly() {
        let absent = PAIR.replace("true", "false");
        let cases = read(file(&format!("{PAIR}\n{absent}\n")).path()).unwrap();
        let judged: Vec<Judged> = cases.into_iter().map(Judged::of).collect();
        let mut tally = Tally::default();
        judged
            .iter()
            .for_each(|case| tally.add(case.known, case.state));
        let text = anstream::adapter::strip_str(&text(&judged, &tally)).to_string();
        assert!(text.contains("present  1      1"), "{text}");
        assert!(
            text.contains("kept     1/2 (50.0 %)  1/1 (100.0 %)"),
            "{text}"
        );
        assert!(
            text.contains("1 of 2 cases are told as another class"),
            "{text}"
        );
    }
}
