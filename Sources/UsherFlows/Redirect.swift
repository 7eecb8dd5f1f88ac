import FoundationEssentials
import JSONRPC
package import UsherCore

/// The redirect that a loopback listener waits for during a sign-in.
package struct RedirectExpectation: Sendable, Equatable {
  /// The address at which the daemon listens: a loopback IP literal.
  package var host: String
  /// The port; nil for an ephemeral one (RFC 8252 §7.3).
  package var port: Int?
  package var path: String
  package var state: Secret
  package var form = RedirectForm.oauth
  /// Whether the redirect URI has the host `localhost` in place of the address.
  package var isLocalhost = false
}

/// The parameter names that a provider uses in its redirect.
package struct RedirectForm: Sendable, Equatable {
  /// The parameter with the authorization code, and other names for it.
  var code = ["code"]
  /// The parameter with the provider's error code.
  var error = "error"
  var errorDescription: String? = "error_description"
  /// Parameters that report an error without an error code, in the order in which they count.
  var outcomes: [Outcome] = []
  /// Whether the redirect carries no `state`, so that the secret is the last segment of its path.
  package var isKnownByPath = false
  /// Whether the provider sends the parameters in the body of a POST request, in place of the query
  /// (OAuth 2.0 Form Post Response Mode).
  package var isPosted = false
  /// Whether the provider signs the parameters, so that the redirect has one parameter `response`
  /// with all others (JWT Secured Authorization Response Mode, JARM).
  package var isSigned = false

  /// A parameter that says whether the sign-in succeeded.
  struct Outcome: Sendable, Equatable {
    var name: String
    var success: String
    /// The error code for any other value; nil: the value itself.
    var failure: String?
  }

  /// The names of RFC 6749 §4.1.2.
  package static let oauth = RedirectForm()

  /// Returns the redirect's URL or path. If the path identifies the redirect, the secret is
  /// appended.
  ///
  /// - Parameter place: The configured URL or path, without a query.
  func place(_ place: String, _ secret: Secret) -> String {
    guard isKnownByPath else { return place }
    return place + (place.hasSuffix("/") ? "" : "/") + secret.revealed()
  }

  /// Returns the first name of a parameter that has several.
  fileprivate func name(_ parameter: String) -> String {
    code.contains(parameter) ? code[0] : parameter
  }

  /// Returns the error code of a redirect; nil if it reports no error.
  fileprivate func errorCode(in fields: [String: String]) -> String? {
    fields[error]
      ?? outcomes.lazy.compactMap { outcome in
        fields[outcome.name].flatMap { $0 == outcome.success ? nil : outcome.failure ?? $0 }
      }.first
  }
}

/// The parameters of a redirect (RFC 6749 §4.1.2) whose `state` or path matched the flow.
package struct AuthorizationResponse: Sendable, Equatable {
  package var code: Secret?
  /// The provider's error code, cleaned for display, such as `access_denied`.
  package var error: String?
  package var errorDescription: String?
  /// The issuer's identifier as it names itself (RFC 9207).
  package var iss: String?
  /// The signed answer, which is not verified yet; nil unless the flow expects one. The answer has
  /// no other members then.
  package var signed: Secret?

  package init(
    code: Secret? = nil, error: String? = nil, errorDescription: String? = nil, iss: String? = nil,
    signed: Secret? = nil
  ) {
    self.signed = signed
    self.code = code
    self.error = error
    self.errorDescription = errorDescription
    self.iss = iss
  }
}

/// The result of reading a request to the redirect URI.
package enum RedirectParseResult: Sendable, Equatable {
  case accepted(AuthorizationResponse)
  /// The `state` is missing or belongs to another flow. This flow is not affected.
  case unrelated
  /// The request cannot be read; the flow is not affected. The message is a sentence for users.
  case refused(String)
}

extension Secret {
  /// Returns whether the text is the app's return URL, possibly with a path, query or fragment
  /// appended.
  func isReturn(to returnURL: String) -> Bool {
    let text = revealed()
    return text.utf8.count <= RedirectParseResult.maxLength && text.hasPrefix(returnURL)
      && text.dropFirst(returnURL.count).first.map { "?&#/".contains($0) } ?? true
  }
}

extension RedirectParseResult {
  /// The length limit for queries and URLs, in bytes; longer ones are refused.
  package static let maxLength = 32 * 1024

  /// Returns the `state` in the parameters of a redirect, by which the listener finds the flow.
  ///
  /// - Parameter isSigned: Whether the `state` is read from the signed answer `response`, whose
  ///   signature is not verified yet.
  /// - Returns: Nil if the parameters have no state or several, are too long or are not
  ///   form-encoded.
  package static func state(in query: String, isSigned: Bool = false) -> Secret? {
    guard query.utf8.count <= maxLength, let fields = FormEncoding.decode(query) else { return nil }
    return state(in: fields, isSigned: isSigned)
  }

  private static func state(
    in fields: [(name: String, value: String)], isSigned: Bool
  ) -> Secret? {
    let values = fields.filter { $0.name == (isSigned ? "response" : "state") }.map(\.value)
    guard values.count == 1 else { return nil }
    let state =
      isSigned ? JSONWebToken.claims(of: Secret(values[0]))?["state"]?.stringValue : values[0]
    return state.flatMap { $0.isEmpty ? nil : Secret($0) }
  }

  /// Reads the parameters of a request to the redirect URI: the query without its `?`, or a body.
  /// If the form identifies redirects by their path, the caller has already compared the path.
  package init(query: String, state: Secret, form: RedirectForm = .oauth) {
    guard query.utf8.count <= Self.maxLength else {
      self = .refused("the answer is too long")
      return
    }
    guard var fields = FormEncoding.decode(query) else {
      self = .refused("the answer is not encoded as a form")
      return
    }
    let hasState =
      Self.state(in: fields, isSigned: false) == state
      || form.isSigned && Self.state(in: fields, isSigned: true) == state
    guard form.isKnownByPath || hasState else {
      self = .unrelated
      return
    }
    fields = fields.map { (form.name($0.name), $0.value) }
    // RFC 6749 §3.1 forbids repeated parameters.
    guard Set(fields.map(\.name)).count == fields.count else {
      self = .refused("the answer has a parameter twice")
      return
    }
    let values = Dictionary(uniqueKeysWithValues: fields.map { ($0, $1) })
    // Nothing beside the signed answer counts (JARM §2.4).
    self = .accepted(
      form.isSigned
        ? AuthorizationResponse(signed: values["response"].map { Secret($0) })
        : AuthorizationResponse(values, form))
  }

  /// Reads the complete URL of the redirect, as a user pastes it.
  ///
  /// - Parameter redirectURI: The URI whose scheme, host, port and path the URL must have.
  package init(
    pasted url: Secret, redirectURI: String, state: Secret, form: RedirectForm = .oauth
  ) {
    guard url.revealed().utf8.count <= Self.maxLength else {
      self = .refused("the URL is too long")
      return
    }
    // Scalars, because a combining character after a mark is one Character with the mark.
    let text = url.revealed().trimmingWhiteSpace().unicodeScalars
    let whole = text.prefix { $0 != "#" }
    let parts = whole.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let place = parts.first.flatMap({ Location(String($0)) }),
      place == Location(String(redirectURI.prefix { $0 != "?" }))
    else {
      self = .refused("this is not a URL that begins with \(redirectURI)")
      return
    }
    self.init(query: parts.count == 2 ? String(parts[1]) : "", state: state, form: form)
  }
}

extension AuthorizationResponse {
  init(_ fields: [String: String], _ form: RedirectForm) {
    self.init(
      code: fields[form.code[0]].map { Secret($0) },
      error: form.errorCode(in: fields).map { ProviderText.clean($0, limit: 100) },
      errorDescription: form.errorDescription.flatMap { fields[$0] }
        .map { ProviderText.clean($0) }, iss: fields["iss"])
  }
}

/// A URL without query and fragment, for the comparison of two URLs.
private struct Location: Equatable {
  let scheme: String
  let host: String
  let port: Int
  let path: String

  init?(_ url: String) {
    guard let url = URLComponents(string: url, encodingInvalidCharacters: false),
      let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(),
      url.user == nil, url.password == nil
    else { return nil }
    self.scheme = scheme
    self.host = host
    port = url.port ?? (scheme == "https" ? 443 : 80)
    path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
  }
}

extension String {
  fileprivate func trimmingWhiteSpace() -> Substring {
    let trimmed = drop { $0.isWhitespace }
    guard let end = trimmed.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return trimmed[...end]
  }
}
