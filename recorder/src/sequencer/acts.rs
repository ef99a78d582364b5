//! What a sequencer does for those who run the ledger: their acts become entries, and revoked keys write nothing.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::Request;
use crate::admin_act;
use crate::error::LedgerError;
use crate::incoming::SaltedEvent;
use crate::store::Writer;

/// Time between two looks for waiting acts. They may have been written by another process, which tells nobody.
const PAUSE: Duration = Duration::from_secs(1);
/// Most acts that one group takes.
const ACTS_MAX: u32 = 64;

/// When waiting acts are looked for. At once after opening.
pub(crate) struct ActsDue(Instant);

impl Default for ActsDue {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl ActsDue {
    pub(super) fn at(&self) -> Instant {
        self.0
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.0
    }

    /// There are no more for now, or they have to wait.
    pub(super) fn put_off(&mut self) {
        self.0 = Instant::now() + PAUSE;
    }

    /// The events of the acts that wait, behind the one that starts their session; none if no act waits.
    pub(super) async fn take(
        &mut self,
        writer: &mut dyn Writer,
    ) -> Result<Vec<SaltedEvent>, LedgerError> {
        if !self.is_due() {
            return Ok(Vec::new());
        }
        let rows = writer.look_up_acts(ACTS_MAX).await?;
        // However many there are: one that cannot be taken must not be looked at again at once.
        self.put_off();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut events = vec![admin_act::start()?];
        for row in rows {
            match row.event() {
                Ok(event) => events.push(event),
                // One that somebody changed holds up neither the others nor the agents' events.
                Err(error) => {
                    tracing::error!(%error, "an admin act cannot become an entry");
                    self.put_off();
                }
            }
        }
        SaltedEvent::salt_all(events)
    }
}

/// The keys of requests that were revoked since their requests were let in: read inside the group, so that what is revoked
/// before a group begins writes nothing with it.
pub(super) async fn refused_keys<'a>(
    writer: &mut dyn Writer,
    requests: &'a [Request],
) -> Result<HashSet<&'a str>, LedgerError> {
    let mut keys: HashSet<&str> = requests
        .iter()
        .filter_map(|request| request.key.as_deref())
        .collect();
    if !keys.is_empty() {
        let asked: Vec<&str> = keys.iter().copied().collect();
        for valid in writer.look_up_valid_keys(&asked).await? {
            keys.remove(valid.as_str());
        }
    }
    Ok(keys)
}
