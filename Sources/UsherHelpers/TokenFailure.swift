import JSONRPC

/// Why a tool gets no token.
package enum TokenFailure: Error, Sendable, Equatable {
  /// usherd's configuration has no target for the request. usherd says which is missing.
  case noTarget(String)
  /// usherd refuses the request.
  ///
  /// `command` is what a person must run first; nil if no command helps. `needsSignIn` is true if
  /// the target's account has no usable grant.
  case refused(String, command: String?, needsSignIn: Bool)
  /// usherd has not answered, or not in a readable form.
  case unavailable(String)
  /// The token cannot be written in the tool's format.
  case unwritable(String)

  /// The reply of usherd is malformed.
  package static let unreadable = TokenFailure.unavailable("the reply of usherd cannot be read")
  static let boundToKey = TokenFailure.unwritable(
    "the provider binds its tokens to a key of usherd (DPoP), and the tool cannot prove that key")

  /// The failure as a line for people, with the next step at its end.
  package var line: String {
    switch self {
    case .refused(let message, let command?, _): "\(message); run: \(command)"
    case .noTarget(let message), .refused(let message, nil, _), .unavailable(let message),
      .unwritable(let message):
      message
    }
  }
}

// MARK: - Errors of usherd

extension TokenFailure {
  /// Reads an error of `token.forTarget`.
  init(_ error: ResponseError) {
    let reason = error.data?["reason"]?.stringValue
    let message = error.message.isEmpty ? "usherd refuses the request" : error.message.printable
    switch reason {
    case "no_target": self = .noTarget(message)
    case "method_not_found":
      self = .unavailable("this usherd has no targets; install the version of usher-helper")
    case "interaction_required" where error.data?["confirmation"] != nil:
      let question = error.data?["confirmation"]?.stringValue ?? ""
      let command = question.isPlainWord ? "usherctl confirm allow \(question)" : nil
      self = .refused(message, command: command, needsSignIn: false)
    case "interaction_required", "reauthentication_required", "consent_required":
      let command = error.data?["next"].flatMap(Self.command)
      self = .refused(message, command: command, needsSignIn: true)
    default: self = .refused(message, command: nil, needsSignIn: false)
    }
  }

  /// Returns the command that runs the flow in the member `next` of an error; nil if that is
  /// malformed, or has a value that a shell could interpret.
  private static func command(_ next: JSONValue) -> String? {
    guard next["method"]?.stringValue == "flow.start", let call = next["params"],
      let provider = call["provider"]?.stringValue, provider.isPlainWord,
      let kind = call["kind"]?.stringValue, kind.isPlainWord
    else { return nil }
    var words = ["usherctl"]
    switch kind {
    case "authorize": words += ["login", provider]
    case "device": words += ["login", provider, "--kind", kind]
    default: words += ["flow", "run", provider, kind]
    }
    var params = call["params"]?.objectValue ?? [:]
    if let account = params.removeValue(forKey: "account") {
      guard let account = account.stringValue, account.isPlainWord else { return nil }
      words += words[1] == "login" ? ["--account", account] : ["--param", "account=\(account)"]
    }
    for grant in params.removeValue(forKey: "grants")?.arrayValue ?? [] {
      guard let grant = grant.stringValue, grant.isPlainWord else { return nil }
      words += ["--grant", grant]
    }
    if !params.isEmpty {
      // A JSON object keeps the types of the parameters.
      let json = String(decoding: JSONValue.object(params).encoded(), as: UTF8.self)
      guard !json.contains("'"), json.printable == json else { return nil }
      words += ["--params", "'\(json)'"]
    }
    return words.joined(separator: " ")
  }
}
