//! What is known of a session, found again in what was recorded of it, where it was lost meanwhile.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::Payload;

use super::SessionStanding;
use super::standing::{Batches, OpenCall, Thread};

impl SessionStanding {
    /// Whether anything is known of a session, or of one of its sub-agents.
    pub fn knows(&self, agent_id: Option<&str>) -> bool {
        match agent_id {
            None => self.main.run > 0,
            Some(id) => self.subagents.contains_key(id),
        }
    }

    /// Takes over what was recorded: the payloads of the session's newest run, in order. What waited for a request is not found
    /// again.
    pub fn restore<'p>(
        &mut self,
        agent_id: Option<&str>,
        run: u32,
        recorded: impl IntoIterator<Item = &'p Payload>,
    ) {
        let mut thread = Thread {
            run,
            ..Thread::default()
        };
        for payload in recorded {
            thread.take_in(payload);
        }
        *self.thread(agent_id) = thread;
    }
}

impl Thread {
    fn take_in(&mut self, payload: &Payload) {
        match payload {
            Payload::ContextCaptured(captured) => {
                self.turn = captured.turn;
                self.grows = true;
                self.request_due = false;
                self.answered = false;
            }
            Payload::ContextMutated(_) => self.grows = false,
            Payload::IntentDeclared(_) => self.request_due = true,
            Payload::ModelResponded(_) => self.answered = true,
            Payload::ToolCalled(called) => {
                let arguments = called.arguments.as_ref().map_or("", |raw| raw.get());
                let number = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
                let call = OpenCall {
                    tool: called.tool.clone(),
                    arguments: ContentHash::of(arguments.as_bytes()),
                    task: None,
                    number,
                };
                self.open(&called.call_id, call);
                self.numbered_calls = self.numbered_calls.saturating_add(1);
            }
            Payload::ToolReturned(returned) => {
                self.open.remove(&returned.call_id);
            }
            Payload::SessionEnded(_) => self.ended = true,
            _ => {}
        }
        self.batches = Batches::Unknown;
    }
}
