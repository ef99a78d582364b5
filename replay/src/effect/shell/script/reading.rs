//! From the parser's tree to ours.

use std::rc::Rc;

use shuck_ast::{
    Assignment, BinaryOp, BuiltinCommand, Command, CompoundCommand, DeclOperand, HeredocBodyPart,
    HeredocBodyPartNode, RedirectKind, RedirectTarget, SimpleCommand, Span, Stmt, StmtSeq,
    StmtTerminator, WordPart, WordPartNode,
};

use super::super::scan::{self, Ends, Scanned};
use super::super::variable::indexes_may_run;
use super::{Link, Node, Redirect, Simple, is_descriptor, known_text, plain};

const UNREADABLE: Node = Node::Unclear("a word of the command cannot be read");

/// Reads what the parser found.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
}

impl Reader<'_> {
    pub(super) fn sequence(&self, sequence: &StmtSeq) -> Node {
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
                let variables = of.targets.iter().filter_map(|target| target.name.as_ref());
                let variables = variables.map(ToString::to_string).collect();
                self.with_words(words, loop_over(variables, body(&of.body)))
            }
            CompoundCommand::Select(of) => {
                let words = of.words.iter().map(|word| (&word.parts[..], word.span));
                let variables = vec![of.variable.to_string()];
                self.with_words(words, loop_over(variables, body(&of.body)))
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
                let node = match self.slice(of.span).is_some_and(indexes_may_run) {
                    true => Node::Unclear("the index of a list in a condition may run code"),
                    false => Node::Sequence(Vec::new()),
                };
                self.with_words(words, node)
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

fn loop_over(variables: Vec<String>, body: Node) -> Node {
    let words = Vec::new();
    let set = Node::Simple(Simple { variables, words });
    Node::Sequence(vec![set, Node::Loop(Box::new(body))])
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
