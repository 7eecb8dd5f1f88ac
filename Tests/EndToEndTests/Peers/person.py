#!/usr/bin/env python3
"""A person at a provider's pages that need no JavaScript; needs requests from PyPI.

person.py URL USER PASSWORD [COOKIES]    fills in and submits each page's form, until one has none

Writes the last page as JSON: {"title", "text", "url"}, without the URL's query. Cookies are kept in
the file COOKIES, so that the next visit is by the same browser.
"""
import html.parser
import http.cookiejar
import json
import os
import sys
import urllib.parse

import requests

MAX_PAGES = 5
SECONDS = 60


class Page(html.parser.HTMLParser):
    """The first form of a page, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.form, self.fields, self.is_open = None, {}, False
        self.title, self.text, self.place = "", [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.place = tag
        if tag == "form" and self.form is None:
            self.form, self.is_open = given, True
        elif tag == "input" and self.is_open and given.get("name"):
            kind = given.get("type", "text")
            self.fields[given["name"]] = (kind, given.get("value") or "")

    def handle_endtag(self, tag):
        self.place = None
        self.is_open = self.is_open and tag != "form"

    def handle_data(self, data):
        if self.place == "title":
            self.title += data
        elif self.place not in ("script", "style"):
            self.text.append(data.strip())


def main(url, user, password, cookies=None):
    session = requests.Session()
    if cookies:
        session.cookies = http.cookiejar.MozillaCookieJar(cookies)
        if os.path.exists(cookies):
            session.cookies.load(ignore_discard=True)
    reply = session.get(url, timeout=SECONDS)
    for _ in range(MAX_PAGES):
        page = Page(reply.text)
        if page.form is None:
            break
        typed = {"text": user, "email": user, "password": password}
        answers = {name: typed.get(kind, value) for name, (kind, value) in page.fields.items()}
        target = urllib.parse.urljoin(reply.url, page.form.get("action") or "")
        method = page.form.get("method", "get").lower()
        given = {"data" if method == "post" else "params": answers}
        reply = session.request(method, target.split("#")[0], timeout=SECONDS, **given)
    if cookies:
        session.cookies.save(ignore_discard=True)
    page = Page(reply.text)
    print(json.dumps({"title": page.title.strip(), "text": " ".join(filter(None, page.text)),
                      "url": reply.url.split("?")[0]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
