//! Numbers with what they measure, dates and times of day.

use super::{Anchor, Value};
use crate::language;
use crate::passage::Passage;

/// One of an amount, in millionths.
const ONE: i128 = 1_000_000;
/// Most digits of a number that is read as one.
const DIGITS_MAX: usize = 18;

/// The quantity, date or time that begins at a token.
pub(super) fn at(passage: &Passage<'_>, at: usize) -> Option<Anchor> {
    if let Some((value, end)) = date(passage, at).or_else(|| time(passage, at)) {
        return Some(Anchor {
            tokens: at..end,
            value,
        });
    }
    let number = number(passage, at)?;
    let (amount, dimension, end) = measured(passage, &number)?;
    Some(Anchor {
        tokens: at..end,
        value: Value::Quantity { amount, dimension },
    })
}

/// A number, with what its own token says of the unit.
struct Number {
    /// In millionths.
    amount: i128,
    currency: Option<&'static str>,
    /// What follows the digits in the token.
    suffix: String,
    end: usize,
}

fn number(passage: &Passage<'_>, at: usize) -> Option<Number> {
    let folded = passage.folded();
    let token = folded.token(at);
    let next = folded.token(at + 1);
    // "One" and "a" mostly stand for a thing.
    let one =
        token == "one" || matches!(token, "a" | "an") && at > 0 && folded.token(at - 1) == "within";
    if one && language::unit(next).is_some_and(|(dimension, _)| is_span(dimension)) {
        return Some(Number {
            amount: ONE,
            currency: None,
            suffix: String::new(),
            end: at + 1,
        });
    }
    if let Some(value) = language::numeral(token) {
        let joined = passage.is_spaced(at + 1);
        let (value, end) = match language::numeral(next) {
            Some(units) if value >= 20 && units < 10 && joined => (value + units, at + 2),
            _ => (value, at + 1),
        };
        return Some(Number {
            amount: value * ONE,
            currency: None,
            suffix: String::new(),
            end,
        });
    }
    let start = token.find(|symbol: char| symbol.is_ascii_digit() || symbol == '.')?;
    let (sign, rest) = token.split_at(start);
    let (negative, sign) = match sign.strip_prefix(['-', '+']) {
        Some(rest) => (sign.starts_with('-'), rest),
        None => (false, sign.trim_end_matches('-')),
    };
    let currency = language::currency(sign);
    if currency.is_none() && !sign.is_empty() {
        return None;
    }
    let digits = rest
        .find(|symbol: char| !symbol.is_ascii_digit() && !matches!(symbol, '.' | ','))
        .unwrap_or(rest.len());
    let (digits, suffix) = rest.split_at(digits);
    let mut amount = decimal(digits)?;
    let mut end = at + 1;
    // "100 000" is one number.
    while !digits.contains('.') && suffix.is_empty() && amount < 1_000_000_000_000 * ONE {
        let next = folded.token(end);
        let group = next.len() == 3 && next.bytes().all(|byte| byte.is_ascii_digit());
        if !group || digits.len() > 3 || !passage.is_spaced(end) || passage.begins_clause(end) {
            break;
        }
        amount = amount.checked_mul(1000)?.checked_add(decimal(next)?)?;
        end += 1;
    }
    Some(Number {
        amount: if negative { -amount } else { amount },
        currency,
        suffix: suffix.to_owned(),
        end,
    })
}

fn is_span(dimension: &str) -> bool {
    matches!(dimension, "time" | "months")
}

/// Digits with thousands separators and one decimal point, in millionths.
fn decimal(digits: &str) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let grouped = whole.contains(',');
    if grouped && (first.is_empty() || first.len() > 3) || fraction.contains(['.', ',']) {
        return None;
    }
    let mut plain = first.to_owned();
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        plain.push_str(group);
    }
    if plain.len() > DIGITS_MAX || fraction.len() > 6 || plain.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i128 = if plain.is_empty() {
        0
    } else {
        plain.parse().ok()?
    };
    let fraction: i128 = format!("{fraction:0<6}").parse().ok()?;
    Some(whole * ONE + fraction)
}

/// A number with its unit: in its own token, after it, or as a currency before it.
fn measured(passage: &Passage<'_>, number: &Number) -> Option<(i128, &'static str, usize)> {
    let folded = passage.folded();
    let mut amount = number.amount;
    let mut end = number.end;
    let next = |at: usize| {
        let near = at < folded.len() && (passage.is_spaced(at) || passage.gap(at).is_empty());
        if near && !passage.begins_clause(at) {
            folded.token(at)
        } else {
            ""
        }
    };
    let suffix = number.suffix.as_str();
    let mut dimension = number.currency;
    if !suffix.is_empty() {
        if let Some((own, factor)) = language::unit(suffix) {
            return Some((amount.checked_mul(factor)? / ONE, own, end));
        }
        match language::multiple(suffix).filter(|_| suffix != "m" || dimension.is_some()) {
            Some(factor) => amount = amount.checked_mul(factor)?,
            None => dimension = Some(language::currency(suffix)?),
        }
    } else if let Some(factor) = language::multiple(next(end)) {
        amount = amount.checked_mul(factor)?;
        end += 1;
    }
    if dimension.is_none() {
        let before = number.end.checked_sub(2).map(|at| folded.token(at));
        dimension = before
            .filter(|word| word.len() > 1)
            .and_then(language::currency);
    }
    if let Some(currency) = dimension {
        let named = language::currency(next(end)) == Some(currency);
        return Some((amount, currency, end + usize::from(named)));
    }
    if let Some(currency) = language::currency(next(end)) {
        return Some((amount, currency, end + 1));
    }
    // "40 GPU hours": one word may stand between.
    for at in [end, end + 1] {
        let word = next(at);
        // "60 per minute" is no time.
        let divided = language::is_stop_word(next(end)) || next(end) == "per";
        if at > end && (divided || word.len() == 1) {
            break;
        }
        if let Some((own, factor)) = language::unit(word) {
            let through = if at == end { at + 1 } else { end };
            return Some((amount.checked_mul(factor)? / ONE, own, through));
        }
    }
    Some((amount, "", end))
}

fn date(passage: &Passage<'_>, at: usize) -> Option<(Value, usize)> {
    let folded = passage.folded();
    let token = folded.token(at);
    let day = |at: usize| {
        let token = folded.token(at);
        let digits = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|ending| token.strip_suffix(ending))
            .unwrap_or(token);
        let day: u32 = digits.parse().ok()?;
        (1..=31).contains(&day).then_some(day)
    };
    let year = |at: usize| {
        let token = folded.token(at);
        let year: u32 = token.parse().ok().filter(|_| token.len() == 4)?;
        Some(year).filter(|_| !passage.begins_clause(at))
    };
    // "16 may" is no day: a month that is a word too is one with a capital letter.
    let month = |at: usize| {
        let written = || passage.original(at..at + 1).unwrap_or("");
        let is_word = matches!(folded.token(at), "may" | "march");
        let named = !is_word || written().starts_with(char::is_uppercase);
        language::month(folded.token(at)).filter(|_| named)
    };
    let (month, day, end) = if let Some(month) = month(at) {
        (month, day(at + 1)?, at + 2)
    } else if let Some(day) = day(at) {
        let of = usize::from(folded.token(at + 1) == "of");
        (month(at + 1 + of)?, day, at + 2 + of)
    } else {
        return iso_date(token).map(|value| (value, at + 1));
    };
    if passage.begins_clause(end - 1) {
        return None;
    }
    let year = year(end);
    Some((
        Value::Date { year, month, day },
        end + usize::from(year.is_some()),
    ))
}

fn iso_date(token: &str) -> Option<Value> {
    let parts: Vec<&str> = token.split(['-', '/']).collect();
    let [year, month, day] = parts[..] else {
        return None;
    };
    if year.len() != 4 {
        return None;
    }
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    let value = Value::Date {
        year: Some(year.parse().ok()?),
        month,
        day,
    };
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(value)
}

/// "02:00", "5pm", "5:30 pm".
fn time(passage: &Passage<'_>, at: usize) -> Option<(Value, usize)> {
    let folded = passage.folded();
    let token = folded.token(at);
    let clock = token
        .find(|symbol: char| !symbol.is_ascii_digit() && symbol != ':')
        .unwrap_or(token.len());
    let (clock, suffix) = token.split_at(clock);
    let (half, end) = match suffix {
        "" => match folded.token(at + 1) {
            half @ ("am" | "pm") if passage.is_spaced(at + 1) => (half, at + 2),
            _ => ("", at + 1),
        },
        _ => (suffix, at + 1),
    };
    let (hour, minute) = match clock.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute),
        Some(_) => return None,
        None if half.is_empty() => return None,
        None => (clock, "0"),
    };
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        "" => hour,
        "am" if hour <= 12 => hour % 12,
        "pm" if hour <= 12 => hour % 12 + 12,
        _ => return None,
    };
    let is_time = hour < 24 && minute < 60 || (hour, minute) == (24, 0);
    is_time.then(|| (Value::Time(hour * 60 + minute), end))
}
