//! The documentation: every link leads somewhere, the book builds and lists every page, pages and paragraphs
//! are short, and phrases that readers stumbled over do not come back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

#[path = "../../support/pages.rs"]
mod shared;

/// Lines of 110 characters on a screen, code and tables included.
const SCREEN: usize = 58;
/// Five such lines, less what the lists' indents and the links' addresses take.
const PARAGRAPH: usize = 520;

/// The source tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README, the pages of the book, and those beside what they are about.
fn pages() -> Vec<PathBuf> {
    shared::pages(&root(), &["docs/src", "corpora", "tests/mutants"])
}

/// The pages that SUMMARY.md lists, each with its part of the book.
fn listed() -> Vec<(String, String)> {
    let (mut part, mut pages) = (String::new(), Vec::new());
    for line in read(&root().join("docs/src/SUMMARY.md")).lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            heading.clone_into(&mut part);
        }
        pages.extend(links_and_anchors(line).0.into_iter().map(|page| (part.clone(), page)));
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

/// The paragraphs, items, cells and headings of a page, as they are read. Blocks of code are left out, and with
/// `quoted` off what a sentence quotes as code: a program's words have tests of their own.
fn prose(text: &str, quoted: bool) -> Vec<String> {
    let (mut blocks, mut block, mut is_code) = (Vec::new(), String::new(), false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(words) if !is_code => block.push_str(&words),
            Event::Code(words) => block.push_str(if quoted { &words } else { "`" }),
            Event::SoftBreak | Event::HardBreak => block.push(' '),
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::Heading { .. })
            | Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::Heading(_),
            ) => {
                blocks.push(std::mem::take(&mut block));
            }
            _ => {}
        }
    }
    blocks.push(block);
    blocks.retain(|block| !block.is_empty());
    blocks
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
    let listed: BTreeSet<String> = listed().into_iter().map(|(_, page)| page).collect();
    let (source, mut pages) = (root().join("docs/src"), Vec::new());
    shared::below(&source, "md", &mut pages);
    for page in pages {
        let name = page.strip_prefix(&source).expect("below it").display().to_string();
        assert!(name == "SUMMARY.md" || listed.contains(&name), "SUMMARY.md does not list {name}");
    }
}

/// A newcomer reads all of it, so it says only what they need first.
/// The headers in quotes that a file of CUDA includes, and theirs, that lie neither beside the file that asks for them
/// nor in one of the folders.
fn missing_headers(file: &Path, folders: &[PathBuf]) -> Vec<String> {
    let (mut open, mut seen, mut missing) = (vec![file.to_owned()], BTreeSet::new(), Vec::new());
    while let Some(file) = open.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let source = read(&file);
        for header in source.lines().filter_map(|line| line.strip_prefix("#include \"")) {
            let header = header.split('"').next().expect("a name");
            let beside = file.parent().expect("a folder").to_owned();
            let places = std::iter::once(&beside).chain(folders).map(|folder| folder.join(header));
            match places.into_iter().find(|place| place.is_file()) {
                Some(found) => open.push(found),
                None => missing.push(header.to_owned()),
            }
        }
    }
    missing
}

#[test]
fn a_command_that_compiles_names_the_folders_of_its_headers() {
    let mut compiled = 0;
    for page in pages() {
        for line in text(&page).lines() {
            let command = line.strip_prefix("$ ").unwrap_or(line);
            let words: Vec<_> = command.split_whitespace().collect();
            let source = words.iter().find(|word| word.ends_with(".cu"));
            let Some(source) = source.filter(|_| words.first() == Some(&"splatcheck")) else {
                continue;
            };
            let source = root().join(source);
            // A reader's own kernel is not there.
            if !source.is_file() {
                continue;
            }
            let folder = |pair: &[&str]| (pair[0] == "-I").then(|| root().join(pair[1]));
            let folders: Vec<_> = words.windows(2).filter_map(folder).collect();
            let missing = missing_headers(&source, &folders);
            assert!(missing.is_empty(), "{}: {command}: without {missing:?}", page.display());
            compiled += 1;
        }
    }
    assert!(compiled >= 4, "{compiled} commands that compile a file of the source tree");
}

#[test]
fn the_readme_is_short() {
    let readme = read(&root().join("README.md"));
    assert!(readme.len() < 6000, "{} bytes: move what is not for everybody to docs", readme.len());
}

#[test]
fn no_page_says_what_readers_stumbled_over() {
    let mut found = Vec::new();
    for page in pages() {
        for block in prose(&read(&page), false) {
            for phrase in shared::odd_phrases(&block) {
                found.push(format!("{}: '{phrase}' in: {block}", page.display()));
            }
        }
        // Nobody but this project's own machines has that folder, not even in a command.
        assert!(!read(&page).contains("../shared"), "{}", page.display());
    }
    assert!(found.is_empty(), "say it plainly:\n{}", found.join("\n"));
}

/// Notes and measurements are for those who look something up.
fn is_long_on_purpose(part: &str) -> bool {
    part == "Internals"
}

#[test]
fn a_paragraph_has_five_lines_at_most() {
    let mut long = Vec::new();
    let book = listed().into_iter().filter(|(part, _)| !is_long_on_purpose(part));
    let book = book.map(|(_, page)| root().join("docs/src").join(page));
    let own = ["README.md", "CONTRIBUTING.md"].map(|page| root().join(page));
    for page in book.chain(own) {
        for block in prose(&text(&page), true) {
            let length = block.chars().count();
            if length > PARAGRAPH {
                long.push(format!("{}: {length} characters: {block}", page.display()));
            }
        }
    }
    assert!(long.is_empty(), "split these, or make tables of them:\n{}", long.join("\n"));
}

#[test]
fn a_page_has_three_screens_at_most_and_a_reference_four() {
    let mut long = Vec::new();
    for (part, page) in listed() {
        let text = text(&root().join("docs/src").join(&page));
        let lines: usize = text.lines().map(|line| line.chars().count().div_ceil(110).max(1)).sum();
        let screens = if part == "Reference" { 4 } else { 3 };
        if lines > screens * SCREEN && !is_long_on_purpose(&part) {
            long.push(format!("{page}: {lines} lines"));
        }
    }
    assert!(long.is_empty(), "move what few need to a page of its own:\n{}", long.join("\n"));
}

/// The parts of the book, in the order in which a reader needs them.
#[test]
fn the_book_is_in_order_of_purpose() {
    let mut parts: Vec<String> = listed().into_iter().map(|(part, _)| part).collect();
    parts.dedup();
    let wanted = [
        "Summary",
        "Start: your kernel in ten minutes",
        "How to",
        "Reference",
        "Explanation",
        "Internals",
    ];
    assert_eq!(parts, wanted);
}

/// Words that a newcomer does not know, each with its heading of the glossary and the page that explains it.
const TERMS: [(&str, &str, &str); 5] = [
    ("balance threshold", "glossary.md#balance-threshold", "distwar.md"),
    ("emulator", "glossary.md#emulator", "ptx.md"),
    ("formulation", "glossary.md#formulation", "formulations.md"),
    ("mutant", "glossary.md#mutant", "mutants.md"),
    ("shadow", "glossary.md#shadow", "shadow.md"),
];

/// Where a page's first use of a term leads: `Some(None)` if it is no link. Headings and code do not count.
fn first_use(text: &str, term: &str) -> Option<Option<String>> {
    let (mut link, mut hidden) = (None, false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Heading { .. }) => hidden = true,
            Event::End(TagEnd::CodeBlock | TagEnd::Heading(_)) => hidden = false,
            Event::Start(Tag::Link { dest_url, .. }) => link = Some(dest_url.to_string()),
            Event::End(TagEnd::Link) => link = None,
            Event::Text(words) if !hidden && words.to_lowercase().contains(term) => {
                return Some(link);
            }
            _ => {}
        }
    }
    None
}

#[test]
fn pages_that_are_looked_up_link_a_term_where_it_is_first_used() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    let parts = ["Reference", "Explanation"];
    for (_, page) in listed().iter().filter(|(part, _)| parts.contains(&part.as_str())) {
        let text = text(&root().join("docs/src").join(page));
        for (term, heading, explained) in TERMS {
            if page == explained || page == "glossary.md" {
                continue;
            }
            let Some(link) = first_use(&text, term) else { continue };
            seen += 1;
            // A page that is included from elsewhere leads here by another path.
            let leads = |link: &String| {
                let link = link.trim_start_matches("../docs/src/");
                link == heading || link.starts_with(explained)
            };
            if !link.as_ref().is_some_and(leads) {
                wrong.push(format!("{page}: '{term}' needs [{term}]({heading})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 20, "only {seen} uses were found");
    for (_, heading, _) in TERMS {
        let anchor = heading.trim_start_matches("glossary.md#");
        let glossary = read(&root().join("docs/src/glossary.md"));
        assert!(links_and_anchors(&glossary).1.contains(anchor), "{heading}");
    }
}
