//! Shell code as the walk over it needs it: which commands may run, in which order, and what their words are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use shuck_ast::{
    Assignment, BinaryOp, BuiltinCommand, Command, CompoundCommand, DeclOperand, HeredocBodyPart,
    HeredocBodyPartNode, RedirectKind, RedirectTarget, SimpleCommand, Span, Stmt, StmtSeq,
    StmtTerminator, WordPart, WordPartNode,
};
use shuck_parser::parser::Parser;
use shuck_parser::{ShellDialect, ShellProfile};

use super::scan::{self, Ends, Scanned, Unit};

/// Longest code that is read, in bytes.
pub(super) const CODE_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of commands in commands.
const NESTING_MAX: usize = 24;
/// Most steps of the parser.
const STEPS_MAX: usize = 200_000;
/// Most opening braces in a run of characters without white space: the parser looks for their ends again and again.
const BRACES_MAX: usize = 256;
/// Most expansions in one text: each is parsed again by itself.
const EXPANSIONS_MAX: usize = 512;

/// Shell code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A command with its words.
    Simple(Simple),
    /// One after the other.
    Sequence(Vec<Node>),
    /// One after the other, each only if what was before it succeeded or failed.
    Chain(Box<Node>, Vec<(Link, Node)>),
    /// Each reads what the one before it writes.
    Pipe(Vec<Node>),
    /// In a shell of its own.
    Apart(Box<Node>),
    /// The first runs; then one, some or none of the others.
    Choice(Box<Node>, Vec<Node>),
    /// Any number of times.
    Loop(Box<Node>),
    /// A function is defined.
    Function(Vec<String>, Rc<Node>),
    /// With other inputs and outputs.
    With(Vec<Redirect>, Box<Node>),
    /// Code that runs while a word is put together.
    Code(String),
    /// It cannot be told what it does.
    Unclear(&'static str),
}

/// What links two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// A command with its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The variables that it sets.
    pub(super) variables: Vec<String>,
    /// Its words, the name first.
    pub(super) words: Vec<Vec<Unit>>,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// From a file.
    From(Vec<Unit>),
    /// To a file.
    To(Vec<Unit>),
    /// From and to a file.
    Both(Vec<Unit>),
    /// From a text; `None` where the text is open.
    Text(Option<String>),
}

/// Why code was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is longer than what is read.
    TooLong,
    /// It nests, or holds more of something, than what is read.
    TooMuch,
    /// It is no code of a POSIX shell or bash, or not whole.
    NotShell,
}

impl Unread {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::TooLong => "the shell code is longer than 65536 bytes",
            Self::TooMuch => "the shell code nests deeper or holds more than is looked at",
            Self::NotShell => "the shell code is not whole, or not that of a POSIX shell or bash",
        }
    }
}

/// Reads shell code.
pub(super) fn read(code: &str) -> Result<Node, Unread> {
    check(code)?;
    let profile = ShellProfile::native(ShellDialect::Bash);
    // The parser is not ours, and what an agent wrote is hostile: should it panic, the code is unknown and nothing else fails.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        Parser::with_limits_and_profile(code, NESTING_MAX, STEPS_MAX, profile).parse()
    }))
    .map_err(|_| Unread::NotShell)?;
    if !parsed.is_ok() {
        let message = parsed.terminal_error.map(|error| error.to_string());
        let is_limit = message.is_some_and(|message| {
            ["too deep", "too long", "fuel"]
                .iter()
                .any(|sign| message.contains(sign))
        });
        return Err(if is_limit {
            Unread::TooMuch
        } else {
            Unread::NotShell
        });
    }
    Ok(Reader { text: code }.sequence(&parsed.file.body))
}

/// What would cost the parser more than its own limits allow for.
fn check(code: &str) -> Result<(), Unread> {
    if code.len() > CODE_BYTES_MAX {
        return Err(Unread::TooLong);
    }
    let mut braces = 0;
    for byte in code.bytes() {
        match byte {
            b'{' => braces += 1,
            byte if byte.is_ascii_whitespace() => braces = 0,
            _ => {}
        }
        if braces > BRACES_MAX {
            return Err(Unread::TooMuch);
        }
    }
    let expansions =
        code.matches("$(").count() + code.matches("${").count() + code.matches('`').count();
    match expansions > EXPANSIONS_MAX || code.contains('\0') {
        true => Err(Unread::TooMuch),
        false => Ok(()),
    }
}

const UNREADABLE: Node = Node::Unclear("a word of the command cannot be read");

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn sequence(&self, sequence: &StmtSeq) -> Node {
        let statements = sequence.stmts.iter();
        Node::Sequence(
            statements
                .map(|statement| self.statement(statement))
                .collect(),
        )
    }

    fn statement(&self, statement: &Stmt) -> Node {
        let mut code = Vec::new();
        let mut redirects = Vec::new();
        for redirect in &statement.redirects {
            match self.redirect(redirect, &mut code) {
                Some(redirect) => redirects.push(redirect),
                None => return UNREADABLE,
            }
        }
        let mut node = self.command(&statement.command);
        if !redirects.is_empty() {
            node = Node::With(redirects, Box::new(node));
        }
        node = before(code, node);
        match statement.terminator {
            Some(StmtTerminator::Background(_)) => Node::Apart(Box::new(node)),
            _ => node,
        }
    }

    fn command(&self, command: &Command) -> Node {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Builtin(builtin) => self.builtin(builtin),
            Command::Decl(declaration) => {
                let mut simple = Simple::default();
                let mut code = Vec::new();
                simple.words.push(plain(declaration.variant.as_str()));
                let mut is_read =
                    self.assignments(&declaration.assignments, &mut simple, &mut code);
                for operand in &declaration.operands {
                    match operand {
                        DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                            is_read &= self.word(&word.parts, word.span, &mut simple, &mut code);
                        }
                        DeclOperand::Name(reference) => {
                            simple.variables.push(reference.name.to_string());
                        }
                        DeclOperand::Assignment(assignment) => {
                            let one = std::slice::from_ref(assignment);
                            is_read &= self.assignments(one, &mut simple, &mut code);
                        }
                    }
                }
                finished(is_read, simple, code)
            }
            Command::Binary(_) => self.binary(command),
            Command::Compound(compound) => self.compound(compound),
            Command::Function(function) => {
                let names = function.header.entries.iter().map(|entry| {
                    let span = entry.word.span;
                    self.slice(span).unwrap_or_default().to_owned()
                });
                Node::Function(names.collect(), Rc::new(self.statement(&function.body)))
            }
            Command::AnonymousFunction(_) => {
                Node::Unclear("a function without a name is no code of a POSIX shell or bash")
            }
        }
    }

    fn simple(&self, command: &SimpleCommand) -> Node {
        let mut simple = Simple::default();
        let mut code = Vec::new();
        let mut is_read = self.assignments(&command.assignments, &mut simple, &mut code);
        // A command that only sets variables has an empty name that stands nowhere.
        if self.slice(command.name.span) != Some("") {
            for word in std::iter::once(&command.name).chain(&command.args) {
                is_read &= self.word(&word.parts, word.span, &mut simple, &mut code);
            }
        }
        finished(is_read, simple, code)
    }

    fn builtin(&self, builtin: &BuiltinCommand) -> Node {
        let (name, first, rest, assignments) = match builtin {
            BuiltinCommand::Break(of) => ("break", &of.depth, &of.extra_args, &of.assignments),
            BuiltinCommand::Continue(of) => {
                ("continue", &of.depth, &of.extra_args, &of.assignments)
            }
            BuiltinCommand::Return(of) => ("return", &of.code, &of.extra_args, &of.assignments),
            BuiltinCommand::Exit(of) => ("exit", &of.code, &of.extra_args, &of.assignments),
        };
        let mut simple = Simple::default();
        let mut code = Vec::new();
        simple.words.push(plain(name));
        let mut is_read = self.assignments(assignments, &mut simple, &mut code);
        for word in first.iter().chain(rest) {
            is_read &= self.word(&word.parts, word.span, &mut simple, &mut code);
        }
        finished(is_read, simple, code)
    }

    /// A chain leans to the left, one level for each link, and may be long: it is walked, not nested.
    fn binary(&self, command: &Command) -> Node {
        let mut links = Vec::new();
        let mut left = command;
        let mut wrapped: Option<&Stmt> = None;
        while let Command::Binary(binary) = left {
            links.push((binary.op, &*binary.right));
            let inner = &*binary.left;
            let is_bare = inner.redirects.is_empty() && inner.terminator.is_none();
            if !(is_bare && matches!(inner.command, Command::Binary(_))) {
                wrapped = Some(inner);
                break;
            }
            left = &inner.command;
        }
        let Some(first) = wrapped else {
            return UNREADABLE;
        };
        links.reverse();
        let mut node = self.statement(first);
        for (operator, right) in links {
            let right = self.statement(right);
            node = match (operator, node) {
                (BinaryOp::Pipe | BinaryOp::PipeAll, Node::Pipe(mut all)) => {
                    all.push(right);
                    Node::Pipe(all)
                }
                (BinaryOp::Pipe | BinaryOp::PipeAll, left) => Node::Pipe(vec![left, right]),
                (operator, left) => {
                    let link = match operator {
                        BinaryOp::Or => Link::Or,
                        _ => Link::And,
                    };
                    match left {
                        Node::Chain(first, mut rest) => {
                            rest.push((link, right));
                            Node::Chain(first, rest)
                        }
                        left => Node::Chain(Box::new(left), vec![(link, right)]),
                    }
                }
            };
        }
        node
    }

    fn compound(&self, compound: &CompoundCommand) -> Node {
        let body = |sequence: &StmtSeq| self.sequence(sequence);
        match compound {
            CompoundCommand::If(of) => {
                let mut tests = vec![body(&of.condition)];
                tests.extend(of.elif_branches.iter().map(|(test, _)| body(test)));
                let mut branches = vec![body(&of.then_branch)];
                branches.extend(of.elif_branches.iter().map(|(_, branch)| body(branch)));
                branches.extend(of.else_branch.as_ref().map(body));
                Node::Choice(Box::new(Node::Sequence(tests)), branches)
            }
            CompoundCommand::For(of) => {
                let words = of
                    .words
                    .iter()
                    .flatten()
                    .map(|word| (&word.parts[..], word.span));
                self.with_words(words, Node::Loop(Box::new(body(&of.body))))
            }
            CompoundCommand::Select(of) => {
                let words = of.words.iter().map(|word| (&word.parts[..], word.span));
                self.with_words(words, Node::Loop(Box::new(body(&of.body))))
            }
            CompoundCommand::ArithmeticFor(of) => {
                let spans = [of.init_span, of.condition_span, of.step_span];
                self.with_arithmetic(&spans, Node::Loop(Box::new(body(&of.body))))
            }
            CompoundCommand::While(of) => {
                let both = Node::Sequence(vec![body(&of.condition), body(&of.body)]);
                Node::Loop(Box::new(both))
            }
            CompoundCommand::Until(of) => {
                let both = Node::Sequence(vec![body(&of.condition), body(&of.body)]);
                Node::Loop(Box::new(both))
            }
            CompoundCommand::Case(of) => {
                let branches = of.cases.iter().map(|case| body(&case.body)).collect();
                let choice = Node::Choice(Box::new(Node::Sequence(Vec::new())), branches);
                let patterns = of.cases.iter().flat_map(|case| &case.patterns);
                let patterns = patterns.map(|pattern| (&[][..], pattern.span));
                let words = std::iter::once((&of.word.parts[..], of.word.span)).chain(patterns);
                self.with_words(words, choice)
            }
            CompoundCommand::Subshell(of) => Node::Apart(Box::new(body(of))),
            CompoundCommand::BraceGroup(of) => body(of),
            CompoundCommand::Arithmetic(of) => {
                self.with_arithmetic(&[of.expr_span], Node::Sequence(Vec::new()))
            }
            CompoundCommand::Time(of) => match &of.command {
                Some(command) => self.statement(command),
                None => Node::Sequence(Vec::new()),
            },
            CompoundCommand::Conditional(of) => {
                let words = std::iter::once((&[][..], of.span));
                self.with_words(words, Node::Sequence(Vec::new()))
            }
            CompoundCommand::Coproc(of) => Node::Apart(Box::new(self.statement(&of.body))),
            CompoundCommand::Repeat(_)
            | CompoundCommand::Foreach(_)
            | CompoundCommand::Always(_) => {
                Node::Unclear("the command is no code of a POSIX shell or bash")
            }
        }
    }

    fn with_words<'w>(
        &self,
        words: impl Iterator<Item = (&'w [WordPartNode], Span)>,
        node: Node,
    ) -> Node {
        let mut code = Vec::new();
        for (parts, span) in words {
            match self.scan(parts, span) {
                Some(scanned) => code.extend(scanned.code),
                None => return before(code, Node::Sequence(vec![UNREADABLE, node])),
            }
        }
        before(code, node)
    }

    fn with_arithmetic(&self, spans: &[Option<Span>], node: Node) -> Node {
        let mut code = Vec::new();
        for span in spans.iter().flatten() {
            let (start, end) = (span.start.offset(), span.end.offset());
            match scan::document(self.text, start, end, &Ends::new()) {
                Ok(scanned) => code.extend(scanned.code),
                Err(_) => return before(code, Node::Sequence(vec![UNREADABLE, node])),
            }
        }
        before(code, node)
    }

    fn redirect(&self, redirect: &shuck_ast::Redirect, code: &mut Vec<String>) -> Option<Redirect> {
        let word = match &redirect.target {
            RedirectTarget::Word(word) => word,
            RedirectTarget::Heredoc(document) => {
                let span = document.body.span;
                if !document.delimiter.expands_body {
                    return Some(Redirect::Text(self.slice(span).map(str::to_owned)));
                }
                let mut ends = Ends::new();
                ends_of_document(&document.body.parts, &mut ends);
                let (start, end) = (span.start.offset(), span.end.offset());
                let scanned = scan::document(self.text, start, end, &ends).ok()?;
                code.extend(scanned.code);
                return Some(Redirect::Text(known_text(&scanned.units)));
            }
        };
        let scanned = self.scan(&word.parts, word.span)?;
        code.extend(scanned.code);
        let units = scanned.units;
        Some(match redirect.kind {
            RedirectKind::Input => Redirect::From(units),
            RedirectKind::ReadWrite => Redirect::Both(units),
            RedirectKind::HereString => Redirect::Text(known_text(&units)),
            RedirectKind::DupInput | RedirectKind::DupOutput if is_descriptor(&units) => {
                Redirect::To(plain("/dev/null"))
            }
            _ => Redirect::To(units),
        })
    }

    fn assignments(
        &self,
        assignments: &[Assignment],
        simple: &mut Simple,
        code: &mut Vec<String>,
    ) -> bool {
        let mut is_read = true;
        for assignment in assignments {
            simple.variables.push(assignment.target.name.to_string());
            match self.scan(&[], assignment.span) {
                Some(scanned) => code.extend(scanned.code),
                None => is_read = false,
            }
        }
        is_read
    }

    fn word(
        &self,
        parts: &[WordPartNode],
        span: Span,
        simple: &mut Simple,
        code: &mut Vec<String>,
    ) -> bool {
        match self.scan(parts, span) {
            Some(scanned) => {
                simple.words.push(scanned.units);
                code.extend(scanned.code);
                true
            }
            None => false,
        }
    }

    fn scan(&self, parts: &[WordPartNode], span: Span) -> Option<Scanned> {
        let mut ends = Ends::new();
        ends_of(parts, &mut ends);
        // Within quotes that hold escapes the parser's places are shifted: only those are kept that look like what they are.
        ends.retain(|start, end| {
            self.text.get(*start..*end).is_some_and(|whole| {
                whole.ends_with(')')
                    && ["$(", "<(", ">("]
                        .iter()
                        .any(|sign| whole.starts_with(sign))
            })
        });
        scan::word(self.text, span.start.offset(), span.end.offset(), &ends).ok()
    }

    fn slice(&self, span: Span) -> Option<&str> {
        self.text.get(span.start.offset()..span.end.offset())
    }
}

fn ends_of(parts: &[WordPartNode], ends: &mut Ends) {
    for part in parts {
        match &part.kind {
            WordPart::DoubleQuoted { parts, .. } => ends_of(parts, ends),
            WordPart::CommandSubstitution { .. }
            | WordPart::ArithmeticExpansion { .. }
            | WordPart::ProcessSubstitution { .. } => {
                ends.insert(part.span.start.offset(), part.span.end.offset());
            }
            _ => {}
        }
    }
}

fn ends_of_document(parts: &[HeredocBodyPartNode], ends: &mut Ends) {
    for part in parts {
        if let HeredocBodyPart::CommandSubstitution { .. }
        | HeredocBodyPart::ArithmeticExpansion { .. } = &part.kind
        {
            ends.insert(part.span.start.offset(), part.span.end.offset());
        }
    }
}

fn finished(is_read: bool, simple: Simple, code: Vec<String>) -> Node {
    let node = match is_read {
        true => Node::Simple(simple),
        false => Node::Sequence(vec![UNREADABLE, Node::Simple(simple)]),
    };
    before(code, node)
}

/// The code in a command's words runs before the command.
fn before(code: Vec<String>, node: Node) -> Node {
    if code.is_empty() {
        return node;
    }
    let mut all: Vec<Node> = code.into_iter().map(Node::Code).collect();
    all.push(node);
    Node::Sequence(all)
}

fn plain(text: &str) -> Vec<Unit> {
    let chars = text.chars();
    chars
        .map(|of| Unit::Char {
            of,
            is_quoted: true,
        })
        .collect()
}

/// The text of a word that holds nothing open.
fn known_text(units: &[Unit]) -> Option<String> {
    let chars = units.iter().map(|unit| match unit {
        Unit::Char { of, .. } => Some(*of),
        Unit::Variable { .. } | Unit::Open => None,
    });
    chars.collect()
}

/// `2` and `-` behind `>&` name a descriptor, not a file.
fn is_descriptor(units: &[Unit]) -> bool {
    known_text(units).is_some_and(|text| {
        text == "-"
            || text
                .trim_end_matches('-')
                .chars()
                .all(|of| of.is_ascii_digit())
    })
}
