//! The documentation: every link leads somewhere, the book builds, and the README stays short.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The source tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README, and the pages of the book.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs/src", "docs/src/contributing", "corpora", "corpora/published", "tests/mutants/splat", "tests/mutants/scatter", "tests/mutants/grid"] {
        let files = fs::read_dir(root().join(folder)).expect("a folder");
        let files = files.map(|file| file.expect("a file").path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|end| end == "md")));
    }
    pages
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A page, with the page that it includes, if it is such a one.
fn text(file: &Path) -> String {
    let text = read(file);
    match text.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
        Some(other) => read(&file.parent().expect("a folder").join(other)),
        None => text,
    }
}

/// Where the links of a page lead, and the anchors of its headings as GitHub and mdBook make them.
fn links_and_anchors(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut links, mut anchors, mut heading) = (Vec::new(), BTreeSet::new(), None);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.to_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let words: String = heading.take().unwrap_or_default();
                anchors.insert(anchor(&words));
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    (links, anchors)
}

fn anchor(words: &str) -> String {
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_of_it() {
    let (mut broken, mut count) = (Vec::new(), 0);
    for page in pages() {
        for link in links_and_anchors(&read(&page)).0 {
            if link.starts_with("https://") || link.starts_with("http://") {
                continue;
            }
            count += 1;
            let (path, wanted) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let is_there = target.exists();
            let has = || links_and_anchors(&text(&target)).1.contains(wanted);
            if !is_there || !wanted.is_empty() && !has() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(count > 60, "only {count} links were found");
}

#[test]
fn the_book_builds_and_lists_every_page() {
    let book = tempfile::tempdir().expect("a folder");
    let mut made = mdbook_driver::MDBook::load(root().join("docs")).expect("a book");
    book.path().join("html").clone_into(&mut made.config.build.build_dir);
    made.build().expect("it builds");
    let summary = read(&root().join("docs/src/SUMMARY.md"));
    let listed: BTreeSet<String> = links_and_anchors(&summary).0.into_iter().collect();
    for (folder, prefix) in [("docs/src", ""), ("docs/src/contributing", "contributing/")] {
        for page in fs::read_dir(root().join(folder)).expect("a folder") {
            let name = page.expect("a file").file_name().into_string().expect("a plain name");
            if name.ends_with(".md") && name != "SUMMARY.md" {
                let name = format!("{prefix}{name}");
                assert!(listed.contains(&name), "SUMMARY.md does not list {name}");
            }
        }
    }
}

/// A newcomer reads all of it, so it says only what they need first.
#[test]
fn the_readme_is_short() {
    let readme = read(&root().join("README.md"));
    assert!(readme.len() < 8000, "{} bytes: move what is not for everybody to docs", readme.len());
}
