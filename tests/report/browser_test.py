#!/usr/bin/env python3
"""Makes reports of every kind and looks at them in Chromium.

    tests/report/browser_test.py build/release/qw [SCREENSHOTS]

Of each page: it says nothing on the console and asks for nothing, charts have titles, labelled axes and a text
alternative, tables sort, tooltips show the values, text has enough contrast in light and dark, nothing scrolls
sideways at a width of 360 px, no chart is cut in print, and names of the data are text. Ends with 77 where
Chromium, its driver, Selenium or pdftotext is missing (tools/packages.txt, purpose `browser`).
"""
import base64
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "datasets"
CHECKS = pathlib.Path(__file__).with_name("browser_checks.js").read_text(encoding="utf-8")
MOST_BYTES = 2_000_000
DARK = [{"name": "prefers-color-scheme", "value": "dark"}]
A4 = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": False, "printBackground": True}
NASTY = [
    '<script>window.attacked = 1</script>',
    '"><img src=x onerror="window.attacked=1">',
    "'quoted' & \"more\" \\ </script>",
    "\U0001F600 \U0001F468\u200D\U0001F469\u200D\U0001F467 emoji",
    "\u05E9\u05DC\u05D5\u05DD \u202Eturned around",
    "long" * 75,
]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    skip("python3-selenium is not installed")
for needed in ("chromium", "chromedriver", "pdftotext"):
    if not shutil.which(needed):
        skip(f"{needed} is not installed")


class Maker:
    """Runs qw in a folder of its own."""

    def __init__(self, qw, folder):
        self.qw, self.folder, self.pages = qw, pathlib.Path(folder), {}

    def run(self, *words):
        environment = dict(os.environ, QW_DATA_MIRROR=str(DATA), QW_CACHE_DIR=str(self.folder / "cache"))
        done = subprocess.run([self.qw, *map(str, words), "--quiet"], cwd=self.folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"qw {' '.join(map(str, words))}: {done.stderr}")

    def page(self, name):
        self.pages[name] = self.folder / f"{name}.html"
        return self.pages[name]

    def make(self):
        self.run("train", "karate", "--solver", "bregman", "--epochs", 60, "--runs", 3, "--out", "bregman",
                 "--report", self.page("karate"))
        self.run("train", "karate", "--solver", "ce", "--epochs", 60, "--runs", 3, "--out", "ce")
        self.run("report", "ce", "bregman", "--out", self.page("comparison"))
        generated = "csbm:nodes=300,degree=6,features=8,classes=3,homophily=0.8"
        for seed in range(3):
            self.run("fit", "cora" if DATA.exists() else generated, "--trials", 4, "--seed", seed, "--out", f"fit-{seed}",
                     "--report", self.page(f"fit-{seed}"))
        if DATA.exists():
            self.run("train", "county-facebook", "--epochs", 60, "--out", "county", "--report", self.page("county"))
            self.run("reproduce", "table1", "--models", "gcn", "--datasets", "cornell", "--runs", 2,
                     "--out", "reproduce", "--report", self.page("reproduce"))
        self.sweep(generated)
        self.attack()
        return self.pages

    def sweep(self, data):
        (self.folder / "small.json").write_text(json.dumps({
            "method": "qw", "each": {"data": [data], "model": ["gcn"]},
            "fixed": {"epochs": 20}, "strategy": "halving", "samples": 12, "first_runs": 1, "runs": 3,
            "search": {"lr": {"log": [0.001, 0.1]}, "lambda": {"log": [0.1, 100]}, "hidden": [8, 16],
                       "solver": ["ce", "bregman"]}}))
        self.run("sweep", "small.json", "--store", "small.db")
        self.run("sweep", "report", "small.db", "--out", self.page("sweep"))

    def attack(self):
        """Names of nodes, classes, columns and files that are no friends of a page."""
        with open(self.folder / "n.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["id", NASTY[0], NASTY[5], "class"])
            for i in range(60):
                rows.writerow([f"{NASTY[i % 6]} {i}", i % 7, i % 5, NASTY[i % 6]])
        with open(self.folder / "e.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["from", "to"])
            rows.writerows([[f"{NASTY[i % 6]} {i}", f"{NASTY[j % 6]} {j}"] for i in range(60) for j in ((i + 6) % 60, (i + 1) % 60)])
        out = 'run <b> "x" & y'
        self.run("train", "--edges", "e.csv", "--nodes", "n.csv", "--id", "id", "--target", "class", "--epochs", 30,
                 "--out", out)
        self.run("report", out, "--out", self.page("names"), "--title", " ".join(NASTY))


class Browser:
    def __init__(self, screenshots):
        options = Options()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.screenshots = screenshots
        self.problems = []

    def ask(self, page, check):
        found = self.driver.execute_script(f"return checks.{check}()")
        self.problems += [f"{page}: {check}: {problem}" for problem in found[:8]]

    def expect(self, page, truth, problem):
        if not truth:
            self.problems.append(f"{page}: {problem}")

    def open(self, file, width, scheme):
        tell = self.driver.execute_cdp_cmd
        tell("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        tell("Emulation.setEmulatedMedia", {"media": "screen", "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.get_log("performance")  # of the page before
        self.driver.get(file.as_uri())
        self.driver.execute_script(CHECKS)

    def is_quiet(self, page, file):
        for line in self.driver.get_log("browser"):
            self.problems.append(f"{page}: console: {line['message']}")
        for line in self.driver.get_log("performance"):
            event = json.loads(line["message"])["message"]
            if event["method"] != "Network.requestWillBeSent":
                continue
            url = event["params"]["request"]["url"]
            self.expect(page, url == file.as_uri(), f"asks for {url}")

    def screenshot(self, name, width):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 16000), "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
        (self.screenshots / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def zoom(self, page):
        """By keyboard: + shows a part of the axes, 0 all of them."""
        labels = "return [...arguments[0].querySelectorAll('.ticks text')].map(each => each.textContent).join()"
        for svg in self.driver.find_elements("css selector", ".panel > svg:has(.window)")[:2]:
            before = self.driver.execute_script(labels, svg)
            for keys, same in (("++", False), ("0", True)):
                self.driver.execute_script("arguments[0].focus()", svg)
                self.driver.switch_to.active_element.send_keys(keys)
                self.expect(page, (self.driver.execute_script(labels, svg) == before) == same, f"the key {keys} does not zoom")
            self.driver.switch_to.active_element.send_keys("\ue014")  # right
            self.expect(page, self.driver.execute_script("return !document.getElementById('tip').hidden"), "an arrow key shows no value")

    def keyboard(self, page):
        """What can be clicked can be reached, and shows that it has the focus."""
        script = """
          const stay = [...document.querySelectorAll('.legend button, th button, .tools button:enabled, summary, nav a')]
            .filter(each => each.checkVisibility());
          return stay.filter(each => { each.focus({focusVisible: true}); const style = getComputedStyle(each);
            return document.activeElement !== each || style.outlineStyle === 'none'; }).length"""
        unseen = self.driver.execute_script(script)
        self.expect(page, unseen == 0, f"{unseen} controls take no visible focus")

    def printed(self, page, folder):
        """No drawing begins on one sheet and ends on another, and all of it is there."""
        def print_to(pdf):
            pdf.write_bytes(base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", A4)["data"]))

        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": DARK})  # not "screen"
        print_to(self.screenshots / f"{page}.pdf")
        drawings = self.driver.execute_script("return checks.markDrawings()")
        pdf = folder / f"{page}.pdf"
        print_to(pdf)
        text = subprocess.run(["pdftotext", str(pdf), "-"], stdout=subprocess.PIPE, text=True, check=True).stdout
        sheets = text.split("\f")
        for place in range(drawings):
            on = [[number for number, sheet in enumerate(sheets) if f"drawing{place}{end}" in sheet.split()] for end in ("first", "last")]
            self.expect(page, on[0] == on[1] and len(on[0]) == 1, f"drawing {place} is cut in print: it is on sheets {on}")

    def look(self, page, file, folder):
        size = file.stat().st_size
        self.expect(page, size <= MOST_BYTES, f"has {size} bytes")
        for width in (1200, 360):
            for scheme in ("light", "dark"):
                self.open(file, width, scheme)
                self.screenshot(f"{page}-{width}-{scheme}", width)
                self.ask(page, "contrast")
                self.ask(page, "width")
                if scheme == "dark":
                    continue
                for check in ("labelled", "visible", "wording", "harmless", "legends", "tooltips", "sorted"):
                    self.ask(page, check)
                if width == 1200:
                    self.ask(page, "overlaps")
                    self.zoom(page)
                    self.keyboard(page)
                self.is_quiet(page, file)
        self.open(file, 1200, "dark")
        self.printed(page, folder)


def main():
    qw = pathlib.Path(sys.argv[1]).resolve()
    screenshots = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else qw.parent / "report-screenshots").resolve()
    screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = Maker(qw, folder).make()
        browser = Browser(screenshots)
        try:
            for page, file in pages.items():
                browser.look(page, file, pathlib.Path(folder))
                shutil.copy(file, screenshots)
        finally:
            browser.driver.quit()
    for problem in browser.problems:
        print(problem)
    print(f"{len(pages)} pages, {len(browser.problems)} problems; screenshots are in {screenshots}")
    return 1 if browser.problems else 0


if __name__ == "__main__":
    sys.exit(main())
