//! Ids of events whose names come more than once.

use remembrancer_schema::{EventId, IdError};

use super::SessionWriter;
use crate::new_event::id_of;

impl SessionWriter {
    /// The name as an id where its characters allow, else with a hash in its place; told apart from an earlier one by a number.
    pub(super) fn event_id(&mut self, name: &str) -> Result<EventId, IdError> {
        let base = id_of(name)?;
        if self.ids.insert(base.clone()) {
            return Ok(base);
        }
        // The numbers before the next one are taken, so that the thousandth of a name is found as fast as the second.
        let mut number = self.numbers.get(&base).copied().unwrap_or(2);
        loop {
            let id: EventId = format!("{base}.{number}").parse()?;
            number += 1;
            if self.ids.insert(id.clone()) {
                self.numbers.insert(base, number);
                return Ok(id);
            }
        }
    }
}
