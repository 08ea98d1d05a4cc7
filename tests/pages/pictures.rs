//! The pictures of the pages are those that the commands above them make today.

use super::{Block, Reader, blocks};
use splatcheck_tests::{pages, root};
use std::fs;

/// A picture of a page.
struct Picture {
    page: String,
    /// What it says to those who cannot see it.
    words: String,
    /// Its name in `docs/src/pictures`, and in the folder where the commands make it.
    name: String,
}

fn pictures() -> Vec<Picture> {
    let mut pictures = Vec::new();
    for page in pages(&root(), &["docs/src", "corpora"]) {
        let text = fs::read_to_string(&page).expect("a page");
        let name = page.strip_prefix(root()).expect("below it").display().to_string();
        for line in text.lines().filter_map(|line| line.strip_prefix("![")) {
            let (words, file) = line.split_once("](").expect("a link");
            let file = file.trim_end_matches(')').rsplit('/').next().expect("a name");
            pictures.push(Picture {
                page: name.clone(),
                words: words.to_owned(),
                name: file.to_owned(),
            });
        }
    }
    pictures
}

/// A drawing is the same byte by byte. What a browser has drawn depends on its version and fonts; each part of what
/// the picture says stands in the page that it is of.
#[test]
fn every_picture_is_what_the_commands_above_it_make() {
    let (reader, blocks, pictures) = (Reader::new(), blocks(), pictures());
    assert!(pictures.len() >= 3, "only {} pictures", pictures.len());
    for Picture { page, words, name } in pictures {
        let makes = |block: &&Block| {
            block.kind == "sh"
                && block.page == page
                && block.lines.iter().any(|line| line.contains(&name))
        };
        let block =
            blocks.iter().rfind(makes).unwrap_or_else(|| panic!("{page}: what makes {name}?"));
        for line in block.lines.iter().filter(|line| line.starts_with("splatcheck ")) {
            reader.output(line);
        }
        let made = |name: &str| fs::read(reader.folder.path().join(name)).expect("it was made");
        if name.ends_with(".svg") {
            let kept = fs::read(root().join("docs/src/pictures").join(&name)).expect("it is kept");
            assert!(made(&name) == kept, "{page}: make {name} again");
            continue;
        }
        let html = String::from_utf8(made(&name.replace(".webp", ".html"))).expect("text");
        for part in words.split("; ") {
            assert!(html.contains(part), "{page}: make {name} again, which says: {part}");
        }
    }
}
