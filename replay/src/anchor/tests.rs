use super::*;
use crate::folding::Escapes;

fn values(text: &str) -> Vec<Value> {
    let folded = Folded::new(text, Escapes::Plain);
    let passage = Passage::new(text, &folded);
    anchors(&passage)
        .into_iter()
        .map(|anchor| anchor.value)
        .collect()
}

fn one(text: &str) -> Value {
    let mut values = values(text);
    assert_eq!(values.len(), 1, "{text}: {values:?}");
    values.remove(0)
}

#[test]
fn spellings_of_one_value_are_equal() {
    for (left, right) in [
        ("at most 1,500 rows", "at most 1500 rows"),
        ("wait 3 days", "wait three days"),
        ("wait 48 hours", "wait 2 days"),
        ("wait 30 minutes", "wait thirty min"),
        ("wait twenty-five hours", "wait 25h"),
        ("pay $25", "pay 25 USD"),
        ("pay $25", "pay 25 dollars"),
        ("pay EUR 1,500", "pay \u{20ac}1500"),
        ("pay $2k", "pay $2,000.00"),
        ("pay 100 000 EUR", "pay 100,000 euros"),
        ("send 10 MB", "send 10mb"),
        ("take 5%", "take 5 percent"),
        ("on 12 May 2026", "on 2026-05-12"),
        ("by 30 September", "by September 30th"),
        ("at 5pm", "at 17:00"),
        ("at 5:30 pm", "at 17:30"),
        ("40 GPU hours", "40 hours"),
        ("a 30-day trial", "a thirty day trial"),
        ("\u{ff11}\u{ff10} rows", "10 rows"),
        ("in src/billing/", "in src/billing/."),
        ("node-07 down", "NODE-07 down"),
    ] {
        assert!(
            one(left).equals(&one(right)),
            "{left} / {right}: {:?} {:?}",
            one(left),
            one(right)
        );
    }
}

#[test]
fn other_values_are_not() {
    for (left, right) in [
        ("at 3.5 rows", "at 35 rows"),
        ("pay $25", "pay $35"),
        ("pay $200", "pay $2000"),
        ("pay $25", "pay \u{20ac}25"),
        ("wait 3 days", "wait 3 weeks"),
        ("send 10 MB", "send 10 GB"),
        ("pay 100 million", "pay 100"),
        ("in us-east-1 now", "in us-east-2 now"),
        ("in src/billing/", "in src/payments/"),
        ("version 1.74.2", "version 1.74.3"),
        ("on 12 May 2026", "on 21 May 2026"),
        ("at 02:00", "at 04:00"),
        ("ask Dana first", "ask Marcus first"),
    ] {
        let (left, right) = (one(left), one(right));
        assert!(
            !left.equals(&right) && left.is_like(&right),
            "{left:?} / {right:?}"
        );
    }
}

#[test]
fn identifiers_paths_and_addresses_are_codes_and_words_are_not() {
    for (text, expected) in [
        ("in dist/ now", vec!["dist"]),
        ("read .env.local now", vec!["env local"]),
        ("read /etc/passwd now", vec!["etc passwd"]),
        ("mail to support@acme.com now", vec!["support acme com"]),
        ("on the acme.com domain", vec!["acme com"]),
        ("the orders_prod table", vec!["orders prod"]),
        ("at 10.0.0.5 now", vec!["10.0.0.5"]),
        ("to s3://vault-eu/daily now", vec!["s3 vault eu daily"]),
        ("read and/or write", vec![]),
        ("peer-reviewed read-only one-line", vec![]),
        ("e.g. this, i.e. that", vec![]),
        ("a secondary one", vec![]),
        ("PII from the API", vec![]),
        ("# Rules and more", vec![]),
    ] {
        let codes: Vec<String> = values(text)
            .into_iter()
            .map(|value| match value {
                Value::Code { text, .. } => text,
                other => panic!("{text}: {other:?}"),
            })
            .collect();
        assert_eq!(codes, expected, "{text}");
    }
}

#[test]
fn an_identifier_stands_as_a_whole_or_as_the_host_of_an_address() {
    for (code, text, expected) in [
        ("acme com", "mail support@acme.com", true),
        ("acme com", "see https://acme.com now", true),
        ("acme com", "mail acme.com.evil", false),
        ("dist", "in the dist folder", true),
        ("src billing", "in src/billing/legacy/", false),
        ("var log", "in /srv/var/log", false),
        ("us east 1", "in us-east-12", false),
    ] {
        let folded = Folded::new(text, Escapes::Plain);
        let passage = Passage::new(text, &folded);
        assert_eq!(
            code_stands(&passage, code, 0..folded.len()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn an_hour_that_no_day_has_is_no_time() {
    for text in [
        "at 99999999:00",
        "at 4294967295:59",
        "at 24:01",
        "at 25:00",
        "at 13:00pm",
        "at 99999999pm",
    ] {
        let times = values(text);
        let is_time = |value: &Value| matches!(value, Value::Time(_));
        assert!(!times.iter().any(is_time), "{text}: {times:?}");
    }
    assert_eq!(one("at 24:00"), Value::Time(1440));
    assert_eq!(one("at 23:59"), Value::Time(1439));
}
