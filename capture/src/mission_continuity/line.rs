//! One line of a request as the recorded application renders it for its own hash, and as a part of a context.

use remembrancer_schema::payload::{Part, PartKind, PartOrigin};

use super::json::Json;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The instructions that precede every request.
    Instructions,
    /// What the user says.
    User,
    /// A piece of the block that replaces compacted messages: pinned, or written by the application.
    HeadMemory,
    /// The piece of that block that holds the summary.
    HeadSummary,
    /// Words of the model.
    Text,
    /// A call by the model.
    Call,
    /// What a call returned.
    Return,
    /// A validation error that was sent back to the model.
    Retry,
}

/// One line. The pieces of a head are one line together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: LineKind,
    /// Index of its message; the instructions have none.
    pub(super) message: Option<u32>,
    pub(super) call_id: Option<String>,
    pub(super) tool: Option<String>,
    /// A text, or the arguments or result that are rendered.
    pub(super) content: Json,
    /// It stands in for a longer result.
    pub(super) is_stub: bool,
    pub(super) name: Option<String>,
    pub(super) sources: Vec<String>,
}

impl Line {
    pub(super) fn text(kind: LineKind, message: Option<u32>, text: impl Into<String>) -> Self {
        Self {
            kind,
            message,
            call_id: None,
            tool: None,
            content: Json::String(text.into()),
            is_stub: false,
            name: None,
            sources: Vec::new(),
        }
    }

    /// A call, a return or a retry.
    pub(super) fn of_call(
        kind: LineKind,
        message: u32,
        call_id: Option<&str>,
        tool: Option<&str>,
        content: Json,
    ) -> Self {
        Self {
            call_id: call_id.map(str::to_owned),
            tool: tool.map(str::to_owned),
            content,
            ..Self::text(kind, Some(message), "")
        }
    }

    /// The words that the model gets, without what only the rendering adds.
    pub(super) fn words(&self) -> String {
        match self.kind {
            LineKind::Call => format!("{}({})", self.tool_name(), self.content.to_content()),
            _ => self.content.to_content(),
        }
    }

    fn tool_name(&self) -> &str {
        self.tool.as_deref().unwrap_or_default()
    }

    fn write(&self, out: &mut String, is_first_of_head: bool) {
        let id = self.call_id.as_deref().unwrap_or_default();
        match self.kind {
            LineKind::Instructions => {}
            LineKind::User => out.push_str("USER: "),
            LineKind::HeadMemory | LineKind::HeadSummary if is_first_of_head => {
                out.push_str("USER: ");
            }
            LineKind::HeadMemory | LineKind::HeadSummary => {}
            LineKind::Text => out.push_str("ASSISTANT: "),
            LineKind::Call => out.push_str(&format!("ASSISTANT CALLED [{id}] ")),
            LineKind::Return => {
                out.push_str(&format!("TOOL RESULT [{id}] {}: ", self.tool_name()));
            }
            LineKind::Retry => out.push_str(&format!("RETRY [{id}]: ")),
        }
        out.push_str(&self.words());
    }

    fn is_head(&self) -> bool {
        matches!(self.kind, LineKind::HeadMemory | LineKind::HeadSummary)
    }

    /// The line as a part of a context.
    pub(super) fn to_part(&self) -> Part {
        let (kind, origin) = match self.kind {
            LineKind::Instructions => (PartKind::System, None),
            LineKind::User => (PartKind::User, None),
            LineKind::HeadMemory => (PartKind::Memory, None),
            LineKind::HeadSummary => (PartKind::Summary, None),
            LineKind::Text => (PartKind::Assistant, None),
            LineKind::Call => (PartKind::ToolCall, None),
            LineKind::Return => (
                PartKind::ToolResult,
                self.is_stub.then_some(PartOrigin::Application),
            ),
            LineKind::Retry => (PartKind::Other, None),
        };
        Part {
            origin,
            message: self.message,
            call_id: self.call_id.clone(),
            tool: self.tool.clone(),
            stub: self.is_stub,
            name: self.name.clone(),
            sources: self.sources.clone(),
            ..Part::inline(kind, self.words())
        }
    }
}

/// The text over which the application hashed: the instructions, then every line.
pub(super) fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut is_in_head = false;
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        line.write(&mut out, !is_in_head);
        is_in_head = line.is_head();
    }
    out
}
