//! The viewer in a real browser: headless Chromium, driven over `WebDriver`.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;

use crate::support::{Server, imported_pair, tool};

/// How long a page may take to show what is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A browser and its driver, stopped when the test ends.
struct Browser {
    driver: Child,
    client: Client,
    _profile: tempfile::TempDir,
}

impl Browser {
    async fn open() -> Option<Self> {
        let chromium = tool("chromium")?;
        let mut driver = Command::new(tool("chromedriver")?)
            .arg("--port=0")
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromedriver can be started");
        let port = announced_port(&mut driver);
        let profile = tempfile::tempdir().unwrap();
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,1000",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let capabilities =
            json!({ "goog:chromeOptions": { "binary": chromium, "args": arguments } });
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("a browser session can be started");
        Some(Self {
            driver,
            client,
            _profile: profile,
        })
    }

    /// Clicks what a selector finds and waits for what another one finds on the page that follows.
    async fn click(&self, selector: &str, then: &str) {
        let link = self.client.find(Locator::Css(selector)).await;
        link.unwrap_or_else(|error| panic!("{selector}: {error}"))
            .click()
            .await
            .unwrap();
        let wait = self
            .client
            .wait()
            .at_most(PATIENCE)
            .for_element(Locator::Css(then))
            .await;
        wait.unwrap_or_else(|error| panic!("after {selector}, {then}: {error}"));
    }

    async fn text(&self, selector: &str) -> String {
        let element = self.client.find(Locator::Css(selector)).await;
        element
            .unwrap_or_else(|error| panic!("{selector}: {error}"))
            .text()
            .await
            .unwrap()
    }

    /// Keeps a picture of the page where `REMEMBRANCER_SCREENSHOTS` names a folder.
    async fn picture(&self, name: &str) {
        if let Some(folder) = std::env::var_os("REMEMBRANCER_SCREENSHOTS") {
            let picture = self
                .client
                .screenshot()
                .await
                .expect("the page can be pictured");
            std::fs::write(
                std::path::Path::new(&folder).join(format!("{name}.png")),
                picture,
            )
            .unwrap();
        }
    }

    async fn close(self) {
        self.client
            .clone()
            .close()
            .await
            .expect("the browser session ends");
    }
}

impl Drop for Browser {
    /// Ends the driver's whole process group: a browser outlives a driver that alone is ended.
    fn drop(&mut self) {
        let group = format!("-{}", self.driver.id());
        let asked = Command::new("kill").args(["-TERM", "--", &group]).status();
        if !asked.is_ok_and(|status| status.success()) {
            drop(self.driver.kill());
        }
        drop(self.driver.wait());
    }
}

fn announced_port(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().expect("standard output is piped")).lines();
    let line = lines.find_map(|line| {
        line.ok()
            .filter(|line| line.contains("started successfully on port "))
    });
    let line = line.expect("chromedriver announces its port");
    let port = line
        .rsplit("port ")
        .next()
        .unwrap()
        .trim_end_matches('.')
        .parse();
    // The rest of its output is read and thrown away, so that it never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("a port number")
}

#[tokio::test]
async fn from_the_list_of_sessions_to_the_evidence_of_a_cell() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let demo = tokio::task::spawn_blocking(Server::demo).await.unwrap();
    browser.client.goto(&demo.login_url).await.unwrap();
    browser.picture("sessions").await;
    let link = browser
        .client
        .find(Locator::LinkText("demo-plain"))
        .await
        .expect("the session is listed");
    link.click().await.unwrap();
    let wait = browser.client.wait().at_most(PATIENCE);
    wait.for_element(Locator::Css("svg.timeline"))
        .await
        .expect("the replay page has its timeline");
    browser.picture("replay").await;
    assert!(
        browser
            .text(".verdict .sentence")
            .await
            .contains("no textual trace")
    );

    browser
        .click("details.as-table summary", "td.cell.broken a")
        .await;
    browser.click("td.cell.broken a", "[data-state]").await;
    browser.picture("evidence").await;
    let page = browser.text("main").await;
    assert!(
        page.contains("publish images before the curator has approved them"),
        "{page}"
    );
    assert!(page.to_lowercase().contains("no textual trace"), "{page}");
    let address = browser.client.current_url().await.unwrap();
    assert!(address.path().contains("/evidence/"), "{address}");
    browser.close().await;
    drop(tokio::task::spawn_blocking(move || demo.stop_and_keep(|_| ())).await);
}

#[tokio::test]
async fn conformance_the_recorded_baseline_shows_its_missing_limit() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let Some((_folder, data)) = tokio::task::spawn_blocking(imported_pair).await.unwrap() else {
        return;
    };
    let (server, key) = tokio::task::spawn_blocking(move || {
        let server = Server::start_on(&data);
        let key = server.key("read");
        (server, key)
    })
    .await
    .unwrap();
    browser
        .client
        .goto(&format!("{}/", server.url))
        .await
        .unwrap();
    let field = browser
        .client
        .find(Locator::Css("form input[type=password]"))
        .await
        .expect("the login asks for a key");
    field.send_keys(&key).await.unwrap();
    browser.click("form button", "table.list").await;
    browser
        .client
        .find(Locator::LinkText("E1-baseline"))
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
    let wait = browser.client.wait().at_most(PATIENCE);
    wait.for_element(Locator::Css("svg.timeline"))
        .await
        .expect("the replay page has its timeline");
    browser.picture("baseline").await;
    browser
        .click("details.as-table summary", "td.cell.broken a")
        .await;
    browser.click("td.cell.broken a", "[data-state]").await;
    browser.picture("baseline-evidence").await;
    let page = browser.text("main").await;
    assert!(page.contains("contact customers"), "{page}");
    assert!(
        page.contains("turn 6"),
        "the mutation that it left with is named: {page}"
    );
    browser.close().await;
    drop(tokio::task::spawn_blocking(move || server.stop_and_keep(|_| ())).await);
}
