//! Units, currencies, months and numbers in words.

/// A unit as a dimension and a factor in millionths of its base; `None` for a word that is no unit.
pub(crate) fn unit(word: &str) -> Option<(&'static str, i128)> {
    UNITS
        .iter()
        .find(|(_, _, words)| words.contains(&word))
        .map(|(dimension, factor, _)| (*dimension, *factor))
}

/// The currency of a sign, a code or a word.
pub(crate) fn currency(word: &str) -> Option<&'static str> {
    CURRENCIES
        .iter()
        .find(|words| words.contains(&word))
        .map(|words| words[0])
}

/// A month's number.
pub(crate) fn month(word: &str) -> Option<u32> {
    let found = MONTHS.iter().position(|words| words.contains(&word))?;
    u32::try_from(found + 1).ok()
}

/// What a word multiplies the number before it by.
pub(crate) fn multiple(word: &str) -> Option<i128> {
    MULTIPLES
        .iter()
        .find(|(_, words)| words.contains(&word))
        .map(|(factor, _)| *factor)
}

/// The number that a word is, below a hundred. "One" is left out: it mostly stands for a thing.
pub(crate) fn numeral(word: &str) -> Option<i128> {
    let found = NUMERALS.iter().find(|(_, own)| *own == word);
    found.map(|(value, _)| *value)
}

/// Days of the week: names that need no capital letter.
pub(crate) fn is_weekday(word: &str) -> bool {
    WEEKDAYS.contains(&word)
}

const UNITS: &[(&str, i128, &[&str])] = &[
    ("time", 1_000, &["ms", "millisecond", "milliseconds"]),
    (
        "time",
        1_000_000,
        &["s", "sec", "secs", "second", "seconds"],
    ),
    ("time", 60_000_000, &["min", "mins", "minute", "minutes"]),
    ("time", 3_600_000_000, &["h", "hr", "hrs", "hour", "hours"]),
    ("time", 86_400_000_000, &["d", "day", "days"]),
    ("time", 604_800_000_000, &["week", "weeks"]),
    ("months", 1_000_000, &["month", "months"]),
    ("months", 3_000_000, &["quarter", "quarters"]),
    ("months", 12_000_000, &["year", "years"]),
    ("bytes", 1_000_000, &["byte", "bytes"]),
    (
        "bytes",
        1_000_000_000,
        &["kb", "kilobyte", "kilobytes", "kib"],
    ),
    (
        "bytes",
        1_000_000_000_000,
        &["mb", "megabyte", "megabytes", "mib"],
    ),
    (
        "bytes",
        1_000_000_000_000_000,
        &["gb", "gigabyte", "gigabytes", "gib"],
    ),
    (
        "bytes",
        1_000_000_000_000_000_000,
        &["tb", "terabyte", "terabytes", "tib"],
    ),
    ("percent", 1_000_000, &["%", "percent", "pct"]),
    ("mass", 1, &["mcg", "\u{3bc}g", "microgram", "micrograms"]),
    ("mass", 1_000, &["mg", "milligram", "milligrams"]),
    ("mass", 1_000_000, &["g", "gram", "grams"]),
    ("mass", 1_000_000_000, &["kg", "kilogram", "kilograms"]),
    (
        "length",
        1_000,
        &[
            "mm",
            "millimetre",
            "millimetres",
            "millimeter",
            "millimeters",
        ],
    ),
    (
        "length",
        10_000,
        &[
            "cm",
            "centimetre",
            "centimetres",
            "centimeter",
            "centimeters",
        ],
    ),
    ("length", 1_000_000, &["metre", "metres", "meter", "meters"]),
    (
        "length",
        1_000_000_000,
        &["km", "kilometre", "kilometres", "kilometer", "kilometers"],
    ),
    ("miles", 1_000_000, &["mile", "miles"]),
    (
        "volume",
        1_000,
        &[
            "ml",
            "millilitre",
            "millilitres",
            "milliliter",
            "milliliters",
        ],
    ),
    ("volume", 1_000_000, &["litre", "litres", "liter", "liters"]),
];

const CURRENCIES: &[&[&str]] = &[
    &["$", "usd", "us$", "dollar", "dollars", "buck", "bucks"],
    &["\u{20ac}", "eur", "euro", "euros"],
    &["\u{a3}", "gbp", "pound", "pounds"],
    &["\u{a5}", "jpy", "yen"],
    &["chf", "franc", "francs"],
    &["cny", "rmb", "yuan"],
    &["\u{20b9}", "inr", "rupee", "rupees"],
    &["sek", "krona", "kronor"],
    &["cad"],
    &["aud"],
    &["\u{a2}", "cent", "cents"],
];

const MONTHS: &[&[&str]] = &[
    &["january", "jan"],
    &["february", "feb"],
    &["march", "mar"],
    &["april", "apr"],
    &["may"],
    &["june", "jun"],
    &["july", "jul"],
    &["august", "aug"],
    &["september", "sep", "sept"],
    &["october", "oct"],
    &["november", "nov"],
    &["december", "dec"],
];

const MULTIPLES: &[(i128, &[&str])] = &[
    (100, &["hundred"]),
    (12, &["dozen"]),
    (1_000, &["k", "thousand"]),
    (100_000, &["lakh"]),
    (1_000_000, &["m", "mio", "mn", "million"]),
    (1_000_000_000, &["b", "bn", "billion"]),
];

const NUMERALS: &[(i128, &str)] = &[
    (0, "zero"),
    (2, "two"),
    (3, "three"),
    (4, "four"),
    (5, "five"),
    (6, "six"),
    (7, "seven"),
    (8, "eight"),
    (9, "nine"),
    (10, "ten"),
    (11, "eleven"),
    (12, "twelve"),
    (13, "thirteen"),
    (14, "fourteen"),
    (15, "fifteen"),
    (16, "sixteen"),
    (17, "seventeen"),
    (18, "eighteen"),
    (19, "nineteen"),
    (20, "twenty"),
    (30, "thirty"),
    (40, "forty"),
    (50, "fifty"),
    (60, "sixty"),
    (70, "seventy"),
    (80, "eighty"),
    (90, "ninety"),
];

const WEEKDAYS: &[&str] = &[
    "monday",
    "mondays",
    "tuesday",
    "tuesdays",
    "wednesday",
    "wednesdays",
    "thursday",
    "thursdays",
    "friday",
    "fridays",
    "saturday",
    "saturdays",
    "sunday",
    "sundays",
];
