#!/usr/bin/env python3
"""A person at a provider's pages, in headless Chromium; needs playwright from PyPI.

browser.py sandbox URL allow|deny [USER_CODE]     usher-sandbox's pages
browser.py paysafe URL allow|deny                 the sandbox's page with a PIN
browser.py redirect URL allow|deny                the sandbox's page that approves an SCA event
browser.py gopay URL allow|deny                   the sandbox's log-in by phone, code and PIN
browser.py capture URL allow|deny                 the sandbox's page that photographs card and face
browser.py freedom URL allow|deny                 the sandbox's log-in and consent of Freedom ID
browser.py bsa URL allow USER_KEY                 the sandbox's site that asks a device of BSA
browser.py glewlwyd URL allow [USER_CODE]         glewlwyd's pages

Writes what the browser shows at the end as JSON: {"title", "text", "url"}, without the
URL's query. With USHER_SCREENSHOTS=DIRECTORY each page is kept there as a picture.
"""
import json
import os
import pathlib
import sys
import urllib.parse
import urllib.request

from playwright.sync_api import sync_playwright

# For each step; the test ends the whole visit after two minutes, or ten on a busy machine.
SECONDS = 600


class Person:
    def __init__(self, page, decision, user_code):
        self.page, self.allows, self.user_code = page, decision == "allow", user_code
        self.shots = os.environ.get("USHER_SCREENSHOTS")
        self.count = 0

    def look(self, name):
        if self.shots:
            self.count += 1
            self.page.screenshot(path=f"{self.shots}/{self.count}-{name}.png")

    def sign_in(self):
        self.page.fill("#username", "alice")
        self.page.fill("#password", "alice-password")

    def at_sandbox(self):
        self.look("sandbox-login")
        if self.user_code:
            self.page.fill("#user_code", self.user_code)
        self.sign_in()
        self.page.click("#login")
        self.page.wait_for_selector("#allow")
        self.look("sandbox-consent")
        self.page.click("#allow" if self.allows else "#deny")
        self.page.wait_for_selector("h1")

    def at_paysafe(self):
        """First a wrong PIN, then the right one."""
        page = self.page
        page.wait_for_selector("#pin")
        self.look("paysafe-login")
        if not self.allows:
            page.click("#deny")
            return page.wait_for_selector("h1")
        for pin in ["0000", "2468"]:
            page.fill("#username", "alice")
            page.fill("#pin", pin)
            page.click("#login")
            page.wait_for_selector("#problem" if pin == "0000" else "h1")
            self.look("paysafe-wrong" if pin == "0000" else "paysafe-done")
            if pin == "0000" and page.input_value("#pin"):
                raise RuntimeError("the page keeps the PIN that was typed")
        page.wait_for_url(lambda url: "/callback" in url)

    def at_redirect(self):
        self.look("redirect")
        with self.page.expect_navigation(wait_until="commit"):
            self.page.click("#approve" if self.allows else "#deny")

    def at_gopay(self):
        """First a wrong PIN, then the right one."""
        page = self.page
        page.wait_for_selector("#phone")
        self.look("gopay-phone")
        if not self.allows:
            page.click("#deny")
            return page.wait_for_selector("h1")
        place = urllib.parse.urlsplit(page.url)
        self.type("#phone", "+447700900123", "#otp")
        with urllib.request.urlopen(
                f"{place.scheme}://{place.netloc}/_control/outbox?provider=gopay") as reply:
            code = json.load(reply)["messages"][0]["code"]
        self.type("#otp", code, "#pin")
        self.type("#pin", "0000", "#problem")
        if page.input_value("#pin"):
            raise RuntimeError("the page keeps the PIN that was typed")
        self.type("#pin", "2468", "h1")
        page.wait_for_url(lambda url: "/callback" in url)

    def type(self, field, text, what_comes):
        self.look(f"gopay-{field[1:]}")
        self.page.fill(field, text)
        self.page.click("#next")
        self.page.wait_for_selector(what_comes)

    def at_capture(self):
        page = self.page
        self.look("capture-card")
        if not self.allows:
            with page.expect_navigation(wait_until="commit"):
                page.click("#USER_CANCELLED")
            return
        page.click("#card")
        page.wait_for_selector("#face")
        self.look("capture-face")
        with page.expect_navigation(wait_until="commit"):
            page.click("#face")

    def at_freedom(self):
        """First a wrong password, then the code of an SMS in its place."""
        page = self.page
        page.wait_for_selector("#name")
        self.look("freedom-login")
        place = urllib.parse.urlsplit(page.url)
        page.fill("#name", "+44 7700 900123")
        page.fill("#password", "wrong")
        page.click("#login")
        page.wait_for_selector("#problem")
        if page.input_value("#password"):
            raise RuntimeError("the page keeps the password that was typed")
        self.look("freedom-wrong")
        page.fill("#name", "+44 7700 900123")
        page.click("#login")
        page.wait_for_selector("#code")
        with urllib.request.urlopen(
                f"{place.scheme}://{place.netloc}/_control/outbox?provider=freedomid") as reply:
            code = json.load(reply)["messages"][0]["code"]
        page.fill("#code", code)
        self.look("freedom-code")
        page.click("#login")
        page.wait_for_selector("#allow")
        self.look("freedom-consent")
        page.click("#allow" if self.allows else "#deny")
        page.wait_for_url(lambda url: "/callback" in url)

    def at_bsa(self):
        """First a user key that nobody has, then the right one; the device does the rest."""
        page = self.page
        for key, what_comes in [("nobody.00", "#problem"), (self.user_code, "#state")]:
            page.fill("#userKey", key)
            page.click("#push")
            page.wait_for_selector(what_comes)
            self.look("bsa-site")
        page.wait_for_selector("#user")

    def at_glewlwyd(self):
        """A script draws its pages, one after another, by what its server answers."""
        page = self.page
        if self.user_code:
            page.fill("input[type=text]", self.user_code)
            self.look("glewlwyd-code")
            page.get_by_role("button", name="OK").click()
        page.wait_for_selector("#password")
        self.look("glewlwyd-login")
        self.sign_in()
        page.click("button[type=submit]")
        go_on = page.get_by_role("button", name="Continue")
        go_on.wait_for()
        page.wait_for_load_state("networkidle")
        self.grant(page.get_by_role("button", name="Grant access"))
        self.look("glewlwyd-continue")
        go_on.click()
        page.wait_for_url(lambda url: "/login.html" not in url or "prompt=deviceComplete" in url)

    def grant(self, button):
        """Allows all scopes; a client that has got them before is not asked about again."""
        if button.count() == 0:
            return
        for box in self.page.query_selector_all("input[type=checkbox]:enabled"):
            box.check()
        self.look("glewlwyd-grant")
        button.click()
        button.wait_for(state="detached")


def main(pages, url, decision, user_code=None):
    with sync_playwright() as player:
        # Chromium's sandbox does not work for root.
        as_root = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = player.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=as_root + ["--disable-dev-shm-usage", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 900, "height": 700}, locale="en-GB")
        page.set_default_timeout(SECONDS * 1000)
        page.goto(url)
        person = Person(page, decision, user_code)
        {
            "sandbox": person.at_sandbox, "paysafe": person.at_paysafe,
            "redirect": person.at_redirect, "gopay": person.at_gopay,
            "capture": person.at_capture, "freedom": person.at_freedom, "bsa": person.at_bsa,
            "glewlwyd": person.at_glewlwyd,
        }[pages]()
        person.look("end")
        print(json.dumps({
            "title": page.title(), "text": page.inner_text("body"),
            "url": page.url.split("?")[0]}))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
