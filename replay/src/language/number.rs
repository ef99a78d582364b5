//! Numbers, and what makes larger ones of them.

/// Whether a token is a number, in digits or as a word.
pub(crate) fn is_number(token: &str) -> bool {
    token.chars().any(char::is_numeric) && !token.chars().any(char::is_alphabetic)
        || NUMBER_WORDS.contains(&token)
}

/// Whether a word beside a number makes another number of it.
pub(crate) fn is_scale(token: &str) -> bool {
    SCALES.contains(&token)
}

/// Numbers in words: of those, the ones that a larger number may begin or end with.
const NUMBER_WORDS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
    "ninety",
];

/// What makes another number of the one beside it.
const SCALES: &[&str] = &[
    "%",
    "\u{2030}",
    "b",
    "billion",
    "billions",
    "bn",
    "cent",
    "crore",
    "dozen",
    "hundred",
    "hundreds",
    "k",
    "lakh",
    "m",
    "million",
    "millions",
    "mio",
    "mn",
    "pct",
    "per",
    "percent",
    "permille",
    "t",
    "thousand",
    "thousands",
    "trillion",
    "trillions",
    "tn",
];
