//! Texts that are cut to a length.

/// The longest beginning of a text that has no more bytes than `bytes_max` and ends with a whole character.
pub(crate) fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(prefix("aé", 2), "a");
        assert_eq!(prefix("aé", 3), "aé");
        assert_eq!(prefix("aé", 100), "aé");
        assert_eq!(prefix("é", 0), "");
    }
}
