//! What an action touches, as columns.

use std::borrow::Cow;

use remembrancer_replay::analysis::Action;
use remembrancer_replay::effect::{Known, Target};
use remembrancer_schema::payload::Effect;

/// Whether an action has an effect; `None` where it cannot be told.
pub(super) fn known(action: &Action, effect: Effect) -> Option<bool> {
    match action.effects.of(effect) {
        Known::True => Some(true),
        Known::False => Some(false),
        Known::Unknown => None,
    }
}

/// What it has the effect on, as a JSON array.
pub(super) fn targets(action: &Action, effect: Effect) -> Cow<'_, str> {
    let targets: Vec<&Target> = action.effects.targets(effect).collect();
    serde_json::to_string(&targets)
        .expect("targets hold only text and flags")
        .into()
}

#[cfg(test)]
mod tests {
    use remembrancer_replay::effect::Effects;

    use super::*;
    use crate::sample;

    #[test]
    fn what_is_unknown_is_null_and_never_false() {
        let mut action = sample::analysis("s", 0, 40).actions[0].clone();
        action.effects = Effects::default();
        assert_eq!(known(&action, Effect::Delete), Some(false));
        assert_eq!(targets(&action, Effect::Delete), "[]");
        action.effects = Effects::all_unknown("a program of which nothing is known");
        assert!(
            Effect::ALL
                .iter()
                .all(|effect| known(&action, *effect).is_none())
        );
    }
}
