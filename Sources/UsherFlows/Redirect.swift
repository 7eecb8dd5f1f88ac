import FoundationEssentials
package import UsherCore

/// The redirect that a loopback listener waits for.
package struct RedirectExpectation: Sendable, Equatable {
  /// The host of the redirect URI: a loopback IP literal.
  package var host: String
  /// The port; nil for an ephemeral one (RFC 8252 §7.3).
  package var port: Int?
  package var path: String
  package var state: Secret
  package var form = RedirectForm.oauth
}

/// The parameter names that a provider uses in its redirect.
package enum RedirectForm: Sendable, Equatable {
  /// RFC 6749 §4.1.2.
  case oauth
  /// `authCode`, `errorCode`, `errorDesc`, `result` (contract §3.4).
  case gopay
  /// `code` or `authorization_code`, `error_code` (contract §4.3). The provider returns no state,
  /// so the secret is the last segment of the path.
  case freedom

  /// Whether the path identifies the redirect, because it carries no `state`.
  package var isKnownByPath: Bool { self == .freedom }

  /// Returns the URL or path of the redirect, with the secret appended if the path identifies it.
  ///
  /// - Parameter place: The configured URL or path, without a query.
  func place(_ place: String, _ secret: Secret) -> String {
    guard isKnownByPath else { return place }
    return place + (place.hasSuffix("/") ? "" : "/") + secret.revealed()
  }

  /// Returns the canonical name of a parameter that has two names.
  fileprivate func name(_ parameter: String) -> String {
    self == .freedom && parameter == "authorization_code" ? "code" : parameter
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

  package init(
    code: Secret? = nil, error: String? = nil, errorDescription: String? = nil, iss: String? = nil
  ) {
    self.code = code
    self.error = error
    self.errorDescription = errorDescription
    self.iss = iss
  }
}

/// The result of reading a request to the redirect URI.
package enum RedirectParseResult: Sendable, Equatable {
  case accepted(AuthorizationResponse)
  /// The state is missing or belongs to another flow. This flow is not affected.
  case unrelated
  /// The request cannot be read; the flow is not affected. The message is a sentence for users.
  case refused(String)
}

extension Secret {
  /// Returns whether this is the URL of an app's page with anything appended to it.
  func isReturn(to returnURL: String) -> Bool {
    let text = revealed()
    return text.utf8.count <= RedirectParseResult.maxLength && text.hasPrefix(returnURL)
      && text.dropFirst(returnURL.count).first.map { "?&#/".contains($0) } ?? true
  }
}

extension RedirectParseResult {
  /// The length limit for queries and URLs, in bytes; longer ones are refused.
  package static let maxLength = 32 * 1024

  /// Returns the state in a query, which identifies the flow.
  ///
  /// - Returns: Nil if the query has no state or several, is too long or is not form-encoded.
  package static func state(in query: String) -> Secret? {
    guard query.utf8.count <= maxLength, let fields = FormEncoding.decode(query) else { return nil }
    let states = fields.filter { $0.name == "state" }
    return states.count == 1 && !states[0].value.isEmpty ? Secret(states[0].value) : nil
  }

  /// Reads the query of a request to the redirect URI, without its `?`. If the path identifies the
  /// redirect, the caller has already compared it.
  package init(query: String, state: Secret, form: RedirectForm = .oauth) {
    guard query.utf8.count <= Self.maxLength else {
      self = .refused("the answer is too long")
      return
    }
    guard var fields = FormEncoding.decode(query) else {
      self = .refused("the answer is not encoded as a form")
      return
    }
    let states = fields.filter { $0.name == "state" }
    let hasState = states.count == 1 && !state.isEmpty && Secret(states[0].value) == state
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
    self = .accepted(
      AuthorizationResponse(Dictionary(uniqueKeysWithValues: fields.map { ($0, $1) }), form))
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
    let text = url.revealed().trimmingBlanks()
    let whole = text.prefix { $0 != "#" }
    let parts = whole.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let place = parts.first.flatMap({ Place(String($0)) }),
      place == Place(String(redirectURI.prefix { $0 != "?" }))
    else {
      self = .refused("this is not a URL that begins with \(redirectURI)")
      return
    }
    self.init(query: parts.count == 2 ? String(parts[1]) : "", state: state, form: form)
  }
}

extension AuthorizationResponse {
  fileprivate init(_ fields: [String: String], _ form: RedirectForm) {
    let (code, error, description): (String?, String?, String?) =
      switch form {
      case .oauth: (fields["code"], fields["error"], fields["error_description"])
      case .gopay:
        (fields["authCode"], fields["errorCode"] ?? fields.gopayResult, fields["errorDesc"])
      case .freedom: (fields["code"], fields["error_code"], nil)
      }
    self.init(
      code: code.map { Secret($0) }, error: error.map { ProviderText.clean($0, limit: 100) },
      errorDescription: description.map { ProviderText.clean($0) }, iss: fields["iss"])
  }
}

extension [String: String] {
  /// The error if `result` or `success` reports one; nil otherwise.
  fileprivate var gopayResult: String? {
    if let result = self["result"], result != "success" { return result }
    return self["success"].flatMap { $0 == "true" ? nil : "failure" }
  }
}

/// A URL without its query.
private struct Place: Equatable {
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
  fileprivate func trimmingBlanks() -> Substring {
    let front = drop { $0.isWhitespace }
    guard let end = front.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return front[...end]
  }
}
