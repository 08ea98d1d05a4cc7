//! The lines of the protocol: a request in JSON on the program's standard input, an answer on its
//! standard output.

use crate::io::error::quoted_up_to;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

/// Characters of a program's own words that a message shows.
const SHOWN: usize = 400;

/// A request, with the end of its line.
pub(super) fn request(id: u64, input: &Path, output: &Path) -> Vec<u8> {
    let [input, output] = [input, output].map(Path::to_string_lossy);
    let mut line = json!({"id": id, "input": input, "output": output}).to_string().into_bytes();
    line.push(b'\n');
    line
}

#[derive(Deserialize)]
struct Line {
    id: u64,
    ok: bool,
    #[serde(default)]
    error: Option<String>,
}

/// What a program answered to the request with that number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The output is written.
    Done,
    /// It could not, for this reason.
    Failed(String),
}

/// A line that is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoAnswer(String);

/// Reads an answer.
pub(super) fn read(line: &[u8], id: u64) -> Result<Answer, NoAnswer> {
    let other = |_| {
        let said = words(&String::from_utf8_lossy(line));
        NoAnswer(format!(
            "its standard output says {said}, expected {{\"id\": {id}, \"ok\": true}}: print everything else to \
             standard error"
        ))
    };
    let Line { id: found, ok, error } = serde_json::from_slice(line).map_err(other)?;
    if found != id {
        return Err(NoAnswer(format!("it answered request {found}, but was asked {id}")));
    }
    Ok(match ok {
        true => Answer::Done,
        false => Answer::Failed(error.map_or_else(|| "no reason".to_owned(), |e| words(&e))),
    })
}

/// A program's words in quotes, escaped and shortened.
pub(super) fn words(text: &str) -> String {
    quoted_up_to(text.trim_end(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_whatever_the_path() {
        let line = request(7, Path::new("/a \"b\"\n/c"), Path::new("/d"));
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1, "one line");
        let expected = "{\"id\":7,\"input\":\"/a \\\"b\\\"\\n/c\",\"output\":\"/d\"}\n";
        assert_eq!(String::from_utf8_lossy(&line), expected, "JSON");
    }

    #[test]
    fn answers_are_read_and_anything_else_is_quoted() {
        assert_eq!(read(b"{\"id\": 3, \"ok\": true}", 3), Ok(Answer::Done), "done");
        assert_eq!(
            read(b" {\"ok\":true,\"id\":3,\"ms\":2}\r\n", 3),
            Ok(Answer::Done),
            "more fields"
        );
        let failed = read(b"{\"id\": 3, \"ok\": false, \"error\": \"out of memory\"}", 3);
        assert_eq!(failed, Ok(Answer::Failed("'out of memory'".to_owned())), "its reason");
        let failed = read(b"{\"id\": 3, \"ok\": false}", 3);
        assert_eq!(failed, Ok(Answer::Failed("no reason".to_owned())), "none given");
        let text = |line: &[u8]| read(line, 3).expect_err("no answer").to_string();
        assert_eq!(text(b"{\"id\": 4, \"ok\": true}"), "it answered request 4, but was asked 3");
        for line in [
            &b"loading model"[..],
            b"",
            b"{\"id\": 3}",
            b"{\"id\": \"3\", \"ok\": true}",
            b"{\"id\": -3, \"ok\": true}",
            b"[]",
            b"\xff\xfe",
            b"{\"id\": 3, \"ok\": true} {\"id\": 4, \"ok\": true}",
        ] {
            assert!(text(line).starts_with("its standard output says '"), "{}", text(line));
        }
        assert!(text(&[b'x'; 9999]).len() < 700, "shortened");
    }
}
