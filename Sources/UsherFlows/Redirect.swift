import FoundationEssentials
package import UsherCore

/// What a loopback listener waits for.
package struct RedirectExpectation: Sendable, Equatable {
  /// Nil for an ephemeral port (RFC 8252 §7.3).
  package var port: Int?
  package var path: String
  /// The host of the redirect URI: an IP literal of the loopback.
  package var host: String
  package var state: Secret
  package var form: RedirectForm

  package init(
    host: String, port: Int?, path: String, state: Secret, form: RedirectForm = .oauth
  ) {
    self.host = host
    self.port = port
    self.path = path
    self.state = state
    self.form = form
  }
}

/// How a provider names what it sends back with the browser.
package enum RedirectForm: Sendable, Equatable {
  /// RFC 6749 §4.1.2.
  case oauth
  /// `authCode`, `errorCode`, `errorDesc`, `result` (contract §3.4).
  case gopay
  /// `code` or `authorization_code`, `error_code` (contract §4.3). The provider sends no state back:
  /// the secret is the last segment of the path.
  case freedom

  /// Whether an answer is known by where it arrives, and has no `state`.
  package var isKnownByPath: Bool {
    switch self {
    case .oauth, .gopay: false
    case .freedom: true
    }
  }

  /// What stands before a query, with the secret where it belongs.
  ///
  /// - Parameter place: A URL or a path.
  func place(_ place: String, _ secret: Secret) -> String {
    guard isKnownByPath else { return place }
    return place + (place.hasSuffix("/") ? "" : "/") + secret.revealed()
  }

  /// The name that a parameter goes by, where it has two.
  fileprivate func name(_ parameter: String) -> String {
    switch self {
    case .oauth, .gopay: parameter
    case .freedom: parameter == "authorization_code" ? "code" : parameter
    }
  }
}

/// What the provider sent back with the browser (RFC 6749 §4.1.2). Its `state`, or its path, was ours.
package struct RedirectAnswer: Sendable, Equatable {
  package var code: Secret?
  /// As the provider wrote it, cleaned for people; `access_denied`.
  package var error: String?
  package var errorDescription: String?
  /// The issuer's own word for who it is (RFC 9207).
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

/// What a request to the redirect URI turned out to be.
package enum RedirectReading: Sendable, Equatable {
  case ours(RedirectAnswer)
  /// The state is missing or another: whoever sent it, the flow is untouched.
  case notOurs
  /// It cannot be read; the flow is untouched. The message is a sentence for people.
  case refused(String)
}

extension RedirectReading {
  /// Longer queries and URLs are refused.
  package static let maxLength = 32 * 1024

  /// The state that a query carries: it tells which flow the answer is for.
  ///
  /// - Returns: Nil where the query has no state or more than one, is too long or is no form.
  package static func state(in query: String) -> Secret? {
    guard query.utf8.count <= maxLength, let fields = FormEncoding.decode(query) else { return nil }
    let states = fields.filter { $0.name == "state" }
    return states.count == 1 && !states[0].value.isEmpty ? Secret(states[0].value) : nil
  }

  /// Reads the query of a request to the redirect URI, without its `?`. Where an answer is known by its
  /// path, that has been compared.
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
      self = .notOurs
      return
    }
    fields = fields.map { (form.name($0.name), $0.value) }
    // RFC 6749 §3.1: no parameter more than once.
    guard Set(fields.map(\.name)).count == fields.count else {
      self = .refused("the answer has a parameter twice")
      return
    }
    self = .ours(RedirectAnswer(Dictionary(uniqueKeysWithValues: fields.map { ($0, $1) }), form))
  }

  /// Reads the whole URL the browser ended at, as a person pastes it.
  ///
  /// - Parameter redirectURI: Scheme, host, port and path must be these.
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

extension RedirectAnswer {
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
  /// Why there is no code, where the result or `success` says that there is none.
  fileprivate var gopayResult: String? {
    if let result = self["result"], result != "success" { return result }
    return self["success"].flatMap { $0 == "true" ? nil : "failure" }
  }
}

/// Where a URL leads, without its query.
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
