//! What sent a span, as its resource and its instrumentation say.

use super::attributes::Attributes;
use super::wire::Scope;
use remembrancer_schema::payload::ConstraintKind;

/// Names of resource attributes that declare something: what follows is the declaration's id.
const DECLARATIONS: [(&str, ConstraintKind); 4] = [
    ("remembrancer.prohibition.", ConstraintKind::Prohibition),
    ("remembrancer.permission.", ConstraintKind::Permission),
    ("remembrancer.obligation.", ConstraintKind::Obligation),
    ("remembrancer.fact.", ConstraintKind::Fact),
];
/// Most declarations that a resource makes.
const DECLARATIONS_MAX: usize = 256;

/// What sent a span.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) service: Option<String>,
    pub(super) instance: Option<String>,
    pub(super) environment: Option<String>,
    /// The instrumentation and its version.
    pub(super) instrumentation: Option<String>,
    /// What the agent is meant to do.
    pub(super) intent: Option<String>,
    /// Constraints: kind, id and text.
    pub(super) constraints: Vec<(ConstraintKind, String, String)>,
}

impl Source {
    pub(super) fn of(attributes: &Attributes<'_>, scope: Option<&Scope>) -> Self {
        let owned = |names: &[&str]| {
            let text = attributes.text(names)?;
            Some(text.chars().take(256).collect())
        };
        let constraints = DECLARATIONS.into_iter().flat_map(|(prefix, kind)| {
            attributes
                .texts_under(prefix)
                .map(move |(id, text)| (kind, id.to_owned(), text.to_owned()))
        });
        Self {
            service: owned(&["service.name"]),
            instance: owned(&["service.instance.id"]),
            environment: owned(&["deployment.environment.name", "deployment.environment"]),
            instrumentation: scope.map(|scope| {
                let text = format!("{} {}", scope.name, scope.version);
                text.trim().chars().take(256).collect()
            }),
            intent: attributes.text(&["remembrancer.intent"]).map(str::to_owned),
            constraints: constraints.take(DECLARATIONS_MAX).collect(),
        }
    }
}
