//! The sample run, sent through the real HTTP API.

mod mandate;
mod script;
mod story;

use std::path::Path;

use anyhow::Context as _;
use remembrancer_recorder::{Role, create_token, revoke_token};
use serde_json::Value;

use crate::failure::Failure;

/// Posts the sample to the server at `url`, whose ledger is in `data`, and returns the number of events recorded. The key
/// that it posts with is revoked afterwards.
pub(crate) async fn record(url: &str, data: &Path) -> Result<usize, Failure> {
    let key = create_token(data, Role::Write, "demo").await?;
    let (url, token) = (format!("{url}/v1/events"), key.token.clone());
    let recorded = tokio::task::spawn_blocking(move || post_all(&url, &token)).await?;
    revoke_token(data, &key.id).await?;
    recorded
}

fn post_all(url: &str, token: &str) -> Result<usize, Failure> {
    let mut recorded = 0;
    for events in story::sessions() {
        let batch = format!("[{}]", events.join(","));
        let mut response = ureq::post(url)
            .header("authorization", format!("Bearer {token}"))
            .content_type("application/json")
            .send(batch)
            .context("posting the sample run")?;
        let answer: Value = response
            .body_mut()
            .read_json()
            .context("reading the answer to the sample run")?;
        let results = answer["results"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(refused) = results.iter().find(|result| result["status"] != "recorded") {
            return Err(Failure::new(format!(
                "an event of the sample run was not recorded: {refused}"
            )));
        }
        recorded += results.len();
    }
    Ok(recorded)
}
