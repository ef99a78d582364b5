//! The words of tar.

use super::argument::Arg;

/// Letters that take no value and touch nothing more.
const FLAGS: &str = "vzjJkpmhaOWlSUi0123456789Bonq";
/// Letters that take a value that is a text.
const TEXTS: &str = "bNHVLK";

/// What tar does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Does {
    /// It lists what an archive holds.
    #[default]
    List,
    /// It writes what an archive holds.
    Unpack,
    /// It writes an archive.
    Pack,
}

/// The words of tar, told apart.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) does: Does,
    pub(super) archives: Vec<Arg>,
    pub(super) directories: Vec<Arg>,
    pub(super) operands: Vec<Arg>,
    pub(super) removes: bool,
    /// Files stand before a directory is named, or more than one is.
    pub(super) moves_between: bool,
}

impl Parts {
    /// Reads the words. An error says what is not known; what was read by then is kept.
    pub(super) fn read(&mut self, args: &[Arg]) -> Result<(), String> {
        let mut result = Ok(());
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            let is_first = at == 1;
            let text = arg.text.as_str();
            let step = if arg.may_be_option() {
                self.operands.push(arg.clone());
                Err("a word that tar gets may be an option".to_owned())
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, _)) => (name, Some(arg.tail(name.len() + 3))),
                    None => (long, None),
                };
                let next = args.get(at).filter(|_| value.is_none());
                match self.long(name, value.or_else(|| next.cloned())) {
                    Ok(is_used) => {
                        at += usize::from(is_used && next.is_some());
                        Ok(())
                    }
                    Err(reason) => Err(reason),
                }
            } else if text.len() > 1 && text.starts_with('-') || is_first {
                let letters = text.strip_prefix('-').unwrap_or(text);
                // In the old way all values follow the letters; in the new one a value ends the word.
                let is_old = !text.starts_with('-');
                let start = text.len() - letters.len();
                self.letters(arg, start, is_old, args, &mut at)
            } else {
                self.operands.push(arg.clone());
                Ok(())
            };
            result = result.and(step);
        }
        result
    }

    fn letters(
        &mut self,
        arg: &Arg,
        start: usize,
        is_old: bool,
        args: &[Arg],
        at: &mut usize,
    ) -> Result<(), String> {
        let mut result = Ok(());
        for (offset, letter) in arg.text[start..].char_indices() {
            match letter {
                'c' | 'r' | 'u' | 'A' => self.does = Does::Pack,
                'x' => self.does = Does::Unpack,
                't' | 'd' => self.does = Does::List,
                letter if FLAGS.contains(letter) => {}
                'f' | 'C' | 'T' | 'X' | 'b' | 'N' | 'H' | 'V' | 'L' | 'K' => {
                    let behind = start + offset + letter.len_utf8();
                    let value = if is_old || behind == arg.text.len() {
                        let next = args.get(*at).cloned();
                        *at += 1;
                        next
                    } else {
                        Some(arg.tail(behind))
                    };
                    self.value(letter, value);
                    if letter == 'T' {
                        result = Err("tar takes its files from a file".to_owned());
                    }
                    if !is_old && behind < arg.text.len() {
                        break;
                    }
                }
                letter => {
                    result = Err(format!(
                        "what the option -{letter} of tar does is not known"
                    ));
                }
            }
        }
        result
    }

    fn value(&mut self, letter: char, value: Option<Arg>) {
        match (letter, value) {
            ('f', Some(file)) if file.text != "-" => self.archives.push(file),
            ('C', Some(directory)) => {
                self.moves_between |= !self.operands.is_empty() || !self.directories.is_empty();
                self.directories.push(directory);
            }
            (letter, _) => debug_assert!(TEXTS.contains(letter) || "fCTX".contains(letter)),
        }
    }

    /// Reads a long option, and says whether it took the value.
    fn long(&mut self, name: &str, value: Option<Arg>) -> Result<bool, String> {
        match name {
            "create" | "append" | "update" => self.does = Does::Pack,
            "extract" | "get" => self.does = Does::Unpack,
            "list" | "diff" | "compare" => self.does = Does::List,
            "file" => {
                self.value('f', value);
                return Ok(true);
            }
            "directory" => {
                self.value('C', value);
                return Ok(true);
            }
            "exclude" | "strip-components" | "transform" | "owner" | "group" | "mode" | "mtime"
            | "format" | "sort" => return Ok(true),
            "remove-files" => self.removes = true,
            "verbose" | "gzip" | "bzip2" | "xz" | "zstd" | "keep-old-files" | "no-same-owner"
            | "to-stdout" | "wildcards" | "totals" => {}
            name => return Err(format!("what the option --{name} of tar does is not known")),
        }
        Ok(false)
    }
}
