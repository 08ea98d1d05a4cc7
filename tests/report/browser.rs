//! The page in a real browser.

use super::{page, wrong};
use splatcheck_tests::{python, text};
use std::fs;
use std::path::Path;
use std::process::Command;

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

/// A page as the browser has it at the end, and what it wrote on its log.
fn shown(browser: &str, page: &Path, options: &[&str]) -> (String, String) {
    let profile = page.with_file_name("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
        .args(["--proxy-server=127.0.0.1:9", "--dump-dom"])
        .args(options)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("it starts");
    let log = text(&output.stderr);
    assert!(output.status.success(), "{log}");
    (text(&output.stdout), log)
}

/// Its structure as the browser understood it, at the width of a phone, with nothing said on the console and
/// nothing asked of a network that is not there.
#[test]
fn a_browser_shows_the_page() {
    let Some(browser) = browser("a_browser_shows_the_page") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    wrong(here);
    page(here, &["run.json"]);
    let (dom, log) = shown(browser, &here.join("page.html"), &["--window-size=390,844"]);
    assert!(dom.contains("<h1 class=\"disagree\">disagree</h1>"), "{dom}");
    assert!(dom.contains("<section class=\"finding\">") && dom.contains("<figure>"), "{dom}");
    assert!(!log.contains("CONSOLE"), "the page complains: {log}");
}

/// What axe-core finds on a page, a line for each rule: those for readers who cannot see it, or cannot point.
fn axe(browser: &str, html: &str, here: &Path, options: &[&str]) -> String {
    const RUN: &str = "<script src=\"axe.min.js\"></script><script>axe.run().then(found => {\
                       const text = document.createElement('pre'); text.id = 'axe';\
                       const places = rule => rule.nodes.map(node => node.target).join(', ');\
                       text.textContent = found.violations.map(rule => rule.id + ': ' + \
                       places(rule)).join('\\n'); document.body.replaceChildren(text); })</script></body>";
    let page = here.join("axe.html");
    fs::write(&page, html.replacen("</body>", RUN, 1)).expect("written");
    let (dom, log) = shown(browser, &page, &[&["--virtual-time-budget=60000"], options].concat());
    let said = dom.split("<pre id=\"axe\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    said.unwrap_or_else(|| panic!("axe did not end: {log}")).to_owned()
}

#[test]
fn axe_finds_nothing_on_the_page() {
    const TEST: &str = "axe_finds_nothing_on_the_page";
    let (Some(browser), Some(python)) = (browser(TEST), python(TEST)) else { return };
    let place = "import importlib.util as u; s = u.find_spec('axe_playwright_python'); \
                 print(s.submodule_search_locations[0] if s else '')";
    let said = Command::new(python).args(["-c", place]).output().expect("it starts");
    let script = Path::new(text(&said.stdout).trim()).join("axe.min.js");
    if !script.is_file() {
        println!("NOT EXERCISED: {TEST}: no axe-core: run tests/setup");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::copy(script, here.join("axe.min.js")).expect("copied");
    wrong(here);
    let html = page(here, &["run.json"]);
    let dark = "--blink-settings=preferredColorScheme=0";
    for options in [&["--window-size=390,844"][..], &["--window-size=1400,900", dark]] {
        let found = axe(browser, &html, here, options);
        assert_eq!(found, "", "{options:?}");
    }
    // It would be seen.
    let spoilt = html.replacen("<h1", "<img src=\"x.png\"><h1", 1);
    let found = axe(browser, &spoilt, here, &[]);
    assert!(found.starts_with("image-alt: img"), "{found}");
}
