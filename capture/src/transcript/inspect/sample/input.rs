//! Model calls, with everything that they refer to put in its place.

use remembrancer_schema::limits::CONTEXT_PARTS_MAX;
use serde_json::value::RawValue;

use super::Session;
use crate::transcript::inspect::event::{Common, ModelCall, Said, said};
use crate::transcript::inspect::session::Request;

impl Session<'_> {
    /// Reads a model call of an agent.
    pub(super) fn model(
        &mut self,
        key: &Option<String>,
        common: &Common,
        number: u64,
        json: &str,
    ) -> Result<(), serde_json::Error> {
        let call: ModelCall<'_> = serde_json::from_str(json)?;
        let mut request = Request {
            id: common.uuid.clone().unwrap_or_else(|| number.to_string()),
            time: common.timestamp.clone(),
            completed: call.completed.clone(),
            model: call.model.clone(),
            error: call.error.clone(),
            ..Request::default()
        };
        for tool in &call.tools {
            let (schema, is_whole) = self.attachments.resolve(tool.get());
            request.schemas.push(schema);
            request.lacks_parts |= !is_whole;
        }
        self.input(&call, &mut request)?;
        if let Some(output) = &call.output {
            request.usage = output.usage.map(|usage| usage.usage());
            request.context_tokens = output
                .input_context_tokens
                .or_else(|| request.usage.map(|usage| usage.input_tokens));
            if let Some(choice) = output.choices.first() {
                let (message, _) = self.attachments.resolve(choice.message.get());
                request.answer = said(&message)?;
                request.stop_reason = choice.stop_reason.clone();
            }
        }
        if let Some(agent) = self.agents.get_mut(key) {
            agent.requested(request);
        }
        Ok(())
    }

    /// The messages of an input: given with it, or by ranges of the pool.
    fn input(
        &mut self,
        call: &ModelCall<'_>,
        request: &mut Request,
    ) -> Result<(), serde_json::Error> {
        for raw in &call.input {
            let (message, is_whole) = self.attachments.resolve(raw.get());
            request.lacks_parts |= !is_whole;
            request.input.push(said(&message)?);
        }
        for &(start, end) in call.input_refs.iter().flatten() {
            for at in start..end {
                let has_room = request.input.len() < CONTEXT_PARTS_MAX;
                match self.pooled(at)?.filter(|_| has_room) {
                    Some((message, is_whole)) => {
                        request.lacks_parts |= !is_whole;
                        request.input.push(message);
                    }
                    // A range that reaches beyond the pool ends with it, and so does a list that no context can hold.
                    None => {
                        request.lacks_parts = true;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// A message of the pool, and whether everything that it refers to is there.
    fn pooled(&mut self, at: usize) -> Result<Option<(Said, bool)>, serde_json::Error> {
        let messages: &[&RawValue] = self
            .sample
            .events_data
            .as_ref()
            .map_or(&[], |data| &data.messages);
        let Some(raw) = messages.get(at) else {
            return Ok(None);
        };
        if self.pool[at].is_none() {
            let (message, is_whole) = self.attachments.resolve(raw.get());
            let mut read = said(&message)?;
            read.lacks_text = !is_whole;
            self.pool[at] = Some(read);
        }
        Ok(self.pool[at].clone().map(|message| {
            let is_whole = !message.lacks_text;
            (message, is_whole)
        }))
    }
}
