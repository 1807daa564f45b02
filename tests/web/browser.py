"""browser.py - a real Chromium, driven over the WebDriver protocol with nothing but the standard library (Debian: chromium, chromium-driver)."""
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Tab": "\ue004",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
    "Home": "\ue011",
    "End": "\ue010",
}


def missing():
    """What is not installed, in words; None: nothing."""
    for program, package in (("chromedriver", "chromium-driver"), ("chromium", "chromium")):
        if not shutil.which(program):
            return "%s is not installed (Debian package %s)" % (program, package)
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    """One window. `console` has what the page said there since it was asked last."""

    def __init__(self, width=1280, height=800, dark=False):
        self.port = free_port()
        self.profile = tempfile.mkdtemp(prefix="capstan-chromium-")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=%d" % self.port],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": self.profile},  # what Chromium leaves there goes with its profile
        )
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--user-data-dir=" + self.profile,
            "--window-size=%d,%d" % (width, height),
        ]
        if dark:
            arguments.append("--force-dark-mode")
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = ""
        end = time.monotonic() + 60
        while True:
            try:
                self.session = "/session/" + self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(
            "http://127.0.0.1:%d%s" % (self.port, path), data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise AssertionError(json.load(e)["value"]["message"].split("\n")[0]) from None

    def _post(self, path, body=None):
        return self._ask("POST", self.session + path, body or {})

    def open(self, url):
        self._post("/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a function body."""
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def run_later(self, script, *arguments):
        """The last argument of the script is a function that takes its value."""
        return self._post("/execute/async", {"script": script, "args": list(arguments)})

    def text(self, selector="body"):
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.innerText : null", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def wait(self, what, script, *arguments, limit_s=20.0):
        """Until the script returns something true; that."""
        end = time.monotonic() + limit_s
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError("not within %g s: %s; the page says: %s" % (limit_s, what, (self.text() or "")[:1500]))
            time.sleep(0.05)

    def wait_text(self, text, selector="body", limit_s=20.0):
        self.wait(
            "%r in %s" % (text, selector),
            "const e = document.querySelector(arguments[0]); return e && e.innerText.includes(arguments[1])",
            selector,
            text,
            limit_s=limit_s,
        )

    def click(self, selector):
        element = self._post("/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._post("/element/%s/click" % element)

    def press(self, *keys):
        """Keys by name, or texts, to whatever has the focus."""
        actions = []
        for key in keys:
            for char in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": "keyDown", "value": char}, {"type": "keyUp", "value": char}]
        self._post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def resize(self, width, height):
        """The viewport, also below what a window may have."""
        self.command(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        )

    def media(self, **features):
        self.command(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]},
        )

    def command(self, name, parameters):
        """A command of the DevTools protocol."""
        return self._post("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def console(self):
        return [line["message"] for line in self._post("/se/log", {"type": "browser"})]

    def picture(self, path):
        """By its ending: png, or webp."""
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        form = {"format": "webp", "quality": 80} if path.suffix == ".webp" else {"format": "png"}
        path.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", form)["data"]))

    def close(self):
        try:
            if self.session:
                self._ask("DELETE", self.session)
        except (OSError, AssertionError):
            pass  # it has gone by itself
        self.driver.terminate()
        self.driver.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)
