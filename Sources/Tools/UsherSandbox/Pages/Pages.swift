import Mustache

/// The sandbox's web pages. Values are escaped; every page says what this is.
package struct Pages: Sendable {
  private let library: MustacheLibrary

  /// The pages of this process, parsed once for all its sandboxes.
  static let parsed = Result { try Pages() }

  package init() throws {
    var library = MustacheLibrary()
    for (name, text) in PageTemplates.all {
      try library.register(text, named: name)
    }
    self.library = library
  }

  /// A page by the name of its template.
  package func render(
    _ name: String, _ values: [String: Any], status: Int = 200, error: String? = nil
  ) -> Reply {
    let html = library.render(values, withTemplate: name) ?? "there is no page \(name)"
    return Reply(status: status, headers: Self.headers, body: Array(html.utf8), error: error)
  }

  /// A page that only says something.
  package func message(title: String, text: String, status: Int, error: String? = nil) -> Reply {
    render("message", ["title": title, "text": text], status: status, error: error)
  }

  /// Why a request cannot go on, for the person who came with it.
  package func failure(_ refusal: Refusal) -> Reply {
    message(
      title: "This request cannot go on", text: refusal.description, status: refusal.status,
      error: refusal.error)
  }

  /// What a form leads to that is too old, or was not ours.
  package func expired() -> Reply {
    message(
      title: "This page is no longer valid", text: "Start again where you came from.",
      status: 400, error: "invalid_request")
  }

  /// No script, no frame, nothing from elsewhere. `form-action` is absent because browsers apply
  /// it to the redirect back to the client too.
  private static let headers = [
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy":
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
  ]
}
