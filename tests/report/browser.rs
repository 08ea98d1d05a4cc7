//! The pages in a real browser.

use super::page;
use splatcheck_tests::{own_kernel, path, python, say, text};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each kind of page, by the command that makes it, with its exit code. Its last word is the page, or a run of which
/// `report` makes it. `@NAME` is a file of this repository.
const PAGES: [(&str, i32); 9] = [
    // A fault with a wrong image, and one with wrong gradients.
    (
        "ptx @gsplat_rasterize_broken.ptx --manifest @gsplat_rasterize.toml --case @CASE --json run.json",
        1,
    ),
    (
        "ptx @gsplat_backward_broken.ptx --manifest @gsplat_backward.toml --case @CASE --json run.json",
        1,
    ),
    // Only watched.
    (
        "ptx @staging_overwritten.ptx --manifest @staging_overwritten.toml --observe-only --json run.json",
        1,
    ),
    ("self-check --engine emulator --case @CASE --json run.json", 0),
    // With its coverage.
    ("fuzz --engine emulator --cases 12 --out run", 0),
    ("gradcheck @pair_broken.ptx --manifest @pair.toml --html page.html", 1),
    ("gradcheck --manifest @pair.toml --html page.html", 0),
    ("compare @pair.ptx @pair_broken.ptx --manifest @pair.toml --html page.html", 1),
    ("accuracy --manifest @pair.toml --html page.html", 0),
];

/// The page that a command makes in a folder.
fn made(here: &Path, command: &str, code: i32) -> String {
    let word = |word: &str| match word.strip_prefix('@') {
        None => word.to_owned(),
        Some("CASE") => path("corpora/splat/tile-corner.toml"),
        Some(name) if name.starts_with("pair") => {
            path(&format!("harness/examples/gradcheck/{name}"))
        }
        Some(name) if name.starts_with("staging") => path(&format!("corpora/published/{name}")),
        Some(name) => own_kernel(name),
    };
    let words: Vec<_> = command.split_whitespace().map(word).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    say(here, &words).exits(code);
    match words[words.len() - 1] {
        "page.html" => fs::read_to_string(here.join("page.html")).expect("it was written"),
        run => page(here, &[run]),
    }
}

/// A browser of this machine; where it has none, says so.
fn browser(test: &str) -> Option<&'static str> {
    let works = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works);
    if found.is_none() {
        println!("NOT EXERCISED: {test}: no Chromium: run tests/setup");
    }
    found
}

/// A page as the browser has it at the end, and what it wrote on its log. There is no network.
fn shown(browser: &str, page: &Path, options: &[&str]) -> (String, String) {
    let profile = page.with_file_name("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
        .args(["--proxy-server=127.0.0.1:9", "--dump-dom", "--virtual-time-budget=60000"])
        .args(options)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("it starts");
    let log = text(&output.stderr);
    assert!(output.status.success(), "{log}");
    (text(&output.stdout), log)
}

/// What is wrong with a page of that width, a line for each: what axe-core finds for readers who cannot see it or
/// cannot point, and whether it has to be scrolled sideways. The page lies in a frame, since no window of the
/// browser is as narrow as a phone.
fn wrong_with(browser: &str, html: &str, here: &Path, width: u32, options: &[&str]) -> String {
    const RUN: &str = "<script src=\"axe.min.js\"></script><script>axe.run().then(found => {\
                       const places = rule => rule.nodes.map(node => node.target).join(', ');\
                       const lines = found.violations.map(rule => rule.id + ': ' + places(rule));\
                       const page = document.documentElement;\
                       if (page.scrollWidth > page.clientWidth) lines.push('it scrolls sideways');\
                       parent.postMessage(lines.join('\\n'), '*'); })</script></body>";
    fs::write(here.join("axe.html"), html.replacen("</body>", RUN, 1)).expect("written");
    let frame = format!(
        "<iframe src=\"axe.html\" width=\"{width}\" height=\"844\"></iframe><pre></pre><script>onmessage = said => \
         {{ const text = document.querySelector('pre'); text.id = 'axe'; text.textContent = said.data; }}</script>"
    );
    let page = here.join("frame.html");
    fs::write(&page, frame).expect("written");
    let (dom, log) = shown(browser, &page, options);
    assert!(!log.contains("CONSOLE"), "the page complains: {log}");
    let said = dom.split("<pre id=\"axe\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    said.unwrap_or_else(|| panic!("axe did not end: {log}")).to_owned()
}

/// The script of axe-core; where this machine has none, says so.
fn axe(test: &str) -> Option<std::path::PathBuf> {
    let place = "import importlib.util as u; s = u.find_spec('axe_playwright_python'); \
                 print(s.submodule_search_locations[0] if s else '')";
    let said = Command::new(python(test)?).args(["-c", place]).output().expect("it starts");
    let script = Path::new(text(&said.stdout).trim()).join("axe.min.js");
    if !script.is_file() {
        println!("NOT EXERCISED: {test}: no axe-core: run tests/setup");
        return None;
    }
    Some(script)
}

#[test]
fn every_page_is_for_all_readers_and_fits_a_phone() {
    const TEST: &str = "every_page_is_for_all_readers_and_fits_a_phone";
    let (Some(browser), Some(script)) = (browser(TEST), axe(TEST)) else { return };
    let mut found = Vec::new();
    let look = |here: &Path, html: &str, width, options: &[&str]| {
        fs::copy(&script, here.join("axe.min.js")).expect("copied");
        wrong_with(browser, html, here, width, options)
    };
    for (command, code) in PAGES {
        let folder = tempfile::tempdir().expect("a folder");
        let html = made(folder.path(), command, code);
        for (width, options) in
            [(360, &[][..]), (1200, &["--blink-settings=preferredColorScheme=0"][..])]
        {
            let wrong = look(folder.path(), &html, width, options);
            if !wrong.is_empty() {
                found.push(format!("{command}, {width} pixels:\n{wrong}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // It would be seen.
    let folder = tempfile::tempdir().expect("a folder");
    let spoilt = "<html lang=\"en\"><title>a</title><body><main><h1>a</h1><img src=\"x.png\">\
                  <p style=\"width:400px\">a</p></main></body></html>";
    let wrong = look(folder.path(), spoilt, 360, &[]);
    assert_eq!(wrong, "image-alt: img\nit scrolls sideways");
}
