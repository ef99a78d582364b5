//! What a request cost, by the names that senders give the counts.

use remembrancer_schema::limits::INTEGER_MAX;
use remembrancer_schema::payload::Usage;

use super::super::attributes::Attributes;

pub(super) fn usage(attributes: &Attributes<'_>) -> Option<Usage> {
    let count = |names: &[&str]| {
        attributes
            .count(names)
            .filter(|count| *count <= INTEGER_MAX)
    };
    let input = count(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
    ])?;
    Some(Usage {
        input_tokens: input,
        output_tokens: count(&[
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.completion",
            "llm.usage.completion_tokens",
        ])
        .unwrap_or(0),
        cache_read_tokens: count(&[
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "llm.token_count.prompt_details.cache_read",
        ]),
        cache_write_tokens: count(&[
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.details.cache_write_tokens",
            "llm.token_count.prompt_details.cache_write",
        ]),
    })
}
