//! Server-sent events: a stream's bytes as a list of events.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Its `event` field; empty if it has none.
    pub name: &'a str,
    /// Its `data` fields, joined by newlines.
    pub data: String,
}

/// The events of a stream, in order. What follows the last blank line is no event: the stream broke off within it.
pub fn events(stream: &str) -> Vec<SseEvent<'_>> {
    let stream = stream.strip_prefix('\u{feff}').unwrap_or(stream);
    let mut events = Vec::new();
    let (mut name, mut data): (&str, Option<String>) = ("", None);
    for line in lines(stream) {
        if line.is_empty() {
            // An event without data is none.
            if let Some(data) = data.take() {
                events.push(SseEvent { name, data });
            }
            name = "";
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut data) {
            ("event", _) => name = value,
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            // A comment, an id, a retry time, or something else.
            _ => {}
        }
    }
    events
}

/// The lines that have an end, which may be CR, LF or both.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find(['\r', '\n'])?;
        let line = &rest[..end];
        let width = if rest[end..].starts_with("\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + width..];
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &str) -> Vec<(String, String)> {
        let events = events(stream).into_iter();
        events
            .map(|event| (event.name.to_owned(), event.data))
            .collect()
    }

    #[test]
    fn events_are_told_apart_whatever_ends_the_lines() {
        let expected = [("a", "1\n2"), ("", "{\"x\": \"y: z\"}"), ("", "")]
            .map(|(name, data)| (name.to_owned(), data.to_owned()));
        let stream = "\u{feff}: comment\nevent: a\ndata: 1\ndata:2\nid: 7\n\nevent: unused\n\ndata: {\"x\": \"y: z\"}\n\ndata\n\n";
        assert_eq!(read(stream), expected);
        assert_eq!(read(&stream.replace('\n', "\r\n")), expected);
        assert_eq!(read(&stream.replace('\n', "\r")), expected);
    }

    #[test]
    fn what_was_broken_off_is_no_event() {
        let stream = "data: 1\n\ndata: 2\n";
        assert_eq!(read(stream).len(), 1);
        for cut in 0..stream.len() {
            assert!(read(&stream[..cut]).len() <= 1);
        }
        assert!(read("").is_empty());
    }
}
