//! What of a message is searched, and how a hit is shown.

/// At most this much of a message is searched: its head and its tail.
const MAX_BYTES: usize = 64 << 10;
/// Characters shown before the first match, and in all.
const LEAD: usize = 40;
const WIDTH: usize = 160;

/// The part of `body` that is indexed, and the end of its line: with it, any two characters of the
/// text begin one of the three that the index knows.
pub(super) fn of(body: &str) -> String {
    if body.len() <= MAX_BYTES {
        return format!("{body}\n");
    }
    let head = &body[..body.floor_char_boundary(MAX_BYTES / 2)];
    let tail = &body[body.ceil_char_boundary(body.len() - MAX_BYTES / 2)..];
    // The line between keeps words that only meet here from matching.
    format!("{head}\n\u{2026}\n{tail}\n")
}

/// An excerpt of `body` around the first match of `query`: HTML-escaped, every match in it in
/// `<mark>`, line breaks shown as spaces.
pub(super) fn snippet(body: &str, query: &str) -> String {
    let needle: Vec<char> = query.chars().map(fold).collect();
    let Some(first) = find(body, &needle) else {
        return excerpt(body, 0, &needle);
    };
    let start = body[..first.start].char_indices().rev().nth(LEAD - 1).map_or(0, |(at, _)| at);
    excerpt(body, start, &needle)
}

fn excerpt(body: &str, start: usize, needle: &[char]) -> String {
    let window = &body[start..];
    let end = window.char_indices().nth(WIDTH.max(LEAD + needle.len())).map_or(window.len(), |(at, _)| at);
    let mut rest = &window[..end];
    let mut out = String::with_capacity(end + 64);
    if start > 0 {
        out.push('\u{2026}');
    }
    while let Some(hit) = find(rest, needle) {
        escape(&rest[..hit.start], &mut out);
        out.push_str("<mark>");
        escape(&rest[hit.start..hit.end], &mut out);
        out.push_str("</mark>");
        rest = &rest[hit.end..];
    }
    escape(rest, &mut out);
    if end < window.len() {
        out.push('\u{2026}');
    }
    out
}

/// Where `needle` (folded) first occurs in `text`, without regard to case.
fn find(text: &str, needle: &[char]) -> Option<std::ops::Range<usize>> {
    let first = *needle.first()?;
    text.char_indices().filter(|(_, c)| fold(*c) == first).find_map(|(start, _)| {
        let mut rest = text[start..].chars();
        let matches = needle.iter().all(|wanted| rest.next().is_some_and(|c| fold(c) == *wanted));
        matches.then(|| start..text.len() - rest.as_str().len())
    })
}

/// One character for one, as the index folds them.
pub(super) fn fold(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => single,
        _ => c,
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_keeps_head_and_tail_cut_between_characters() {
        let body = format!("head{}tail", "\u{4f60}".repeat(40_000));
        let text = of(&body);
        assert!(text.len() <= MAX_BYTES + 8);
        assert!(text.starts_with("head\u{4f60}") && text.ends_with("\u{4f60}tail\n"));
        assert!(!text.contains('\u{fffd}'));
        assert_eq!(of("short"), "short\n");
    }

    #[test]
    fn snippets_are_escaped_marked_and_centred() {
        assert_eq!(snippet("<b>Tom & \"Jerry\"</b>", "tom &"), "&lt;b&gt;<mark>Tom &amp;</mark> &quot;Jerry&quot;&lt;/b&gt;");
        let long = format!("{} needle {}", "x".repeat(500), "y".repeat(500));
        let shown = snippet(&long, "NEEDLE");
        assert!(shown.starts_with('\u{2026}') && shown.ends_with('\u{2026}'), "{shown}");
        assert!(shown.contains("x <mark>needle</mark> y"));
        assert_eq!(snippet("one two\none", "one"), "<mark>one</mark> two <mark>one</mark>");
        assert_eq!(snippet("\u{4f60}\u{597d}\u{5417}", "\u{597d}\u{5417}"), "\u{4f60}<mark>\u{597d}\u{5417}</mark>");
        assert_eq!(snippet("nothing here", "<script>"), "nothing here");
    }
}
