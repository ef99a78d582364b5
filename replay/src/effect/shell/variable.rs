//! Commands whose words name variables: such a variable is set or looked at, and code in the index of a list runs.

use super::argument::Arg;
use super::walk::Walk;

/// Whether words of a command may name variables.
pub(super) fn names_variables(name: &str) -> bool {
    sets_variables(name)
        || matches!(
            name,
            "declare" | "export" | "local" | "readonly" | "test" | "typeset" | "["
        )
}

fn sets_variables(name: &str) -> bool {
    matches!(
        name,
        "printf" | "read" | "mapfile" | "readarray" | "getopts" | "let" | "unset"
    )
}

impl Walk<'_> {
    /// Looks at the words of a command that may name variables.
    pub(super) fn named_variables(&mut self, command: &str, args: &[Arg]) {
        for (at, arg) in args.iter().enumerate() {
            let behind = at.checked_sub(1).and_then(|before| args.get(before));
            let is_behind_v = behind.is_some_and(|before| matches!(&*before.text, "-v" | "-R"));
            let is_attached = arg.text.starts_with("-v");
            let is_name = match command {
                "printf" => is_behind_v || is_attached,
                "test" | "[" => is_behind_v,
                _ => true,
            };
            if is_name && index_may_run(arg) {
                self.lose(&format!(
                    "the index in a word that {command} gets may run code"
                ));
            }
            if is_name && sets_variables(command) {
                self.names(command, arg);
            }
        }
    }

    /// A word names a variable that is set, be it behind the letters of an option.
    fn names(&mut self, command: &str, arg: &Arg) {
        let name = arg.text.split(['=', '[']).next().unwrap_or_default();
        self.set_variable(name);
        if name.starts_with('-') {
            let starts = name.char_indices().skip(2);
            starts.for_each(|(from, _)| self.set_variable(&name[from..]));
        }
        if arg.open_at == Some(0) && command != "let" {
            self.lose(&format!("which variable {command} sets is not known"));
        }
    }
}

/// Whether a word has an index in which a command may stand, or something that is not known.
fn index_may_run(arg: &Arg) -> bool {
    arg.text.find('[').is_some_and(|index| {
        let is_open = arg.open_at.is_some_and(|open| open > index);
        is_open || arg.text[index..].contains(['$', '`'])
    })
}

/// Whether the numbers of a condition `[[ … ]]` may have indexes, in which commands run even if they stand in quotes.
pub(super) fn indexes_may_run(condition: &str) -> bool {
    let inside = condition.trim_start_matches('[').trim_end_matches(']');
    let signs = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"];
    let has_index = inside.split('[').skip(1).any(|index| {
        let index = index.split(']').next().unwrap_or_default();
        index.contains(['$', '`'])
    });
    has_index && signs.iter().any(|sign| inside.contains(sign))
}
