"""A headless browser over a pipe, by the DevTools protocol; Python's standard library and nothing else."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Home": 36, "End": 35, "Backspace": 8, "ArrowLeft": 37,
        "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40}


def program():
    """The browser's path; None: none is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One browser with one page. What the page's console says, and what was thrown, is in .complaints; what
    it asked the network for in .requests."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()
        words = [program(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 "--no-first-run",
                 "--force-color-profile=srgb", "--remote-debugging-pipe",
                 "--user-data-dir=" + self.folder.name]

        def pipes():  # the protocol's ends are the numbers 3 and 4
            os.dup2(to_child, 203)
            os.dup2(from_child, 204)
            os.dup2(203, 3)
            os.dup2(204, 4)

        self.process = subprocess.Popen(words, preexec_fn=pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.left, self.number, self.session = b"", 0, None
        self.complaints, self.requests, self.events = [], [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.ask(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *what):
        os.close(self.write_end)
        self.process.terminate()
        self.process.wait()
        os.close(self.read_end)
        self.folder.cleanup()

    # ---- the protocol ----

    def message(self):
        while b"\0" not in self.left:
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.left += more
        text, self.left = self.left.split(b"\0", 1)
        return json.loads(text)

    def hear(self, message):
        what, told = message.get("method"), message.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"].get("exception", {}).get("description",
                str(told)))
        elif what == "Runtime.consoleAPICalled":
            self.complaints.append("console: " + json.dumps([a.get("value") for a in told["args"]]))
        elif what == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif what == "Page.javascriptDialogOpening":
            self.complaints.append("dialog: " + told["message"])
            self.send("Page.handleJavaScriptDialog", accept=True)
        elif what == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        self.events.append(what)

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        return self.number

    def ask(self, method, **params):
        number = self.send(method, **params)
        while True:
            message = self.message()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError("%s: %s" % (method, message["error"]["message"]))
                return message["result"]
            self.hear(message)

    # ---- what tests want ----

    def size(self, width, height, scale=1):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                 mobile=False)
        self.settle()

    def settle(self):
        """Until what has changed is drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def scheme(self, name, media=""):
        self.ask("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path):
        """Go to a file and wait until it is loaded and drawn."""
        self.complaints, self.requests, self.events = [], [], []
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        until = time.monotonic() + 60
        while "Page.loadEventFired" not in self.events:
            if time.monotonic() > until:
                raise RuntimeError(path + ": not loaded within a minute")
            self.hear(self.message())
        self.settle()

    def value(self, expression):
        """What an expression of the page comes to."""
        result = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + str(result["exceptionDetails"]))
        return result["result"].get("value")

    def key(self, key, text=None):
        """Press a key. text: what it types."""
        for kind in "keyDown", "keyUp":
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                     windowsVirtualKeyCode=KEYS.get(key, 0),
                     **typed)

    def picture(self, path, whole=False, clip=None):
        if whole:
            box = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            clip = (0, 0, box["width"], box["height"])
        more = {"clip": dict(zip(("x", "y", "width", "height"), clip), scale=1)} if clip else {}
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=bool(clip), **more)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
