import Mustache

/// The sandbox's web pages. Values are HTML-escaped, and each page says that this is a test tool.
package struct Pages: Sendable {
  private let library: MustacheLibrary

  /// The pages of this process, parsed once and shared by all sandboxes.
  static let parsed = Result { try Pages() }

  package init() throws {
    var library = MustacheLibrary()
    for (name, text) in PageTemplates.all {
      try library.register(text, named: name)
    }
    self.library = library
  }

  /// Renders the template of this name.
  package func render(
    _ name: String, _ values: [String: Any], status: Int = 200, error: String? = nil
  ) -> Reply {
    let html = library.render(values, withTemplate: name) ?? "there is no page \(name)"
    return Reply(status: status, headers: Self.headers, body: Array(html.utf8), error: error)
  }

  /// Renders a page that only shows a message.
  package func message(title: String, text: String, status: Int, error: String? = nil) -> Reply {
    render("message", ["title": title, "text": text], status: status, error: error)
  }

  /// Renders the form that carries the response of an authorization request to the client (OAuth
  /// 2.0 Form Post Response Mode). A button sends it, because the pages have no scripts.
  func formPost(_ members: [String: JSON], to address: String, error: String?) -> Reply {
    let fields = members.sorted { $0.key < $1.key }
      .map { ["name": $0.key, "value": $0.value.text ?? ""] }
    return render("formPost", ["action": address, "fields": fields], error: error)
  }

  /// Renders an error page that tells the user why a request was refused.
  package func failure(_ refusal: OAuthError) -> Reply {
    message(
      title: "This request was rejected", text: refusal.description, status: refusal.status,
      error: refusal.error)
  }

  /// Renders the response to a form that is too old or that the sandbox did not issue.
  package func expired() -> Reply {
    message(
      title: "This page has expired", text: "Start again in the application that sent you here.",
      status: 400, error: "invalid_request")
  }

  /// Headers that forbid scripts, frames and external resources. `form-action` is absent, because
  /// browsers also apply it to the redirect back to the client.
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
