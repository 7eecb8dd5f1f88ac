import UsherAPI
import UsherConfig
import UsherCore

/// The validated parameters of a sign-in at Paysafe.
struct PaysafeLogin: Codable, Sendable, Equatable {
  let brand: String
  /// The URL at which the app receives the redirect itself; nil if the daemon listens for it.
  let redirectURI: String?
  /// The additional query parameters of the authorization URL, by name.
  let hints: [String: String]
  let binding: CallersBinding?
  let account: KnownAccount?
  let keepAlive: Bool
  let requestID: String

  /// The state and the code challenge that the caller created. If the caller did so, the caller
  /// redeems the code.
  struct CallersBinding: Codable, Sendable, Equatable {
    let state: Sealed<Secret>
    /// The code challenge, by method S256 (RFC 7636 §4.2).
    let challenge: String
  }

  /// Validates the parameters.
  ///
  /// - Throws: `invalidParams` that names the wrong parameter.
  init(_ params: PaysafeAuthorize.Params, _ context: FlowContext<PaysafeSettings>)
    throws(UsherError)
  {
    brand = try Self.brand(params.brandIdentity, context.provider.settings)
    binding = try Self.binding(params.state, params.codeChallenge)
    redirectURI = try Self.redirectURI(params.redirectURI, hasBinding: binding != nil)
    var hints: [String: String] = [:]
    hints["reset_credentials_url"] = try Self.page(
      params.resetCredentialsURL, "resetCredentialsURL")
    hints["locale"] = try ParamsValidation.languageTag(
      params.locale, "locale", upTo: 64, such: "en-GB")
    hints["login_hint"] = try ParamsValidation.text(params.loginHint, "loginHint")
    hints["login_strategy"] = params.loginStrategy?.rawValue.uppercased()
    self.hints = hints
    account = context.account
    keepAlive = params.keepAlive ?? false
    requestID = context.requestID
  }

  private static func brand(
    _ requested: String?, _ settings: PaysafeSettings
  ) throws(UsherError) -> String {
    guard let brand = requested ?? settings.brandIdentity else {
      throw ParamsValidation.wrong(
        "brandIdentity", "is missing, and the provider has no brand_identity")
    }
    guard brand.isBrandIdentity else {
      throw ParamsValidation.wrong("brandIdentity", "must be up to 128 of A-Z a-z 0-9 . _ -")
    }
    return brand
  }

  /// Validates the URL of a page for the customer's browser. It may have a fragment.
  private static func page(_ text: String?, _ name: String) throws(UsherError) -> String? {
    guard let text else { return nil }
    _ = try ParamsValidation.url(String(text.prefix { $0 != "#" }), name)
    guard text.isVisible(upTo: 2048) else {
      throw ParamsValidation.wrong(
        name, "is not a URL: too long or with characters a URL cannot have")
    }
    return text
  }

  /// Validates the URL at which the app receives the redirect. With the caller's own code challenge
  /// plain http is allowed, as in the example of the SDK's documentation: a code that is stolen on
  /// the way is useless without the verifier, which the caller's backend has (RFC 7636 §1).
  private static func redirectURI(
    _ text: String?, hasBinding: Bool
  ) throws(UsherError) -> String? {
    guard hasBinding, let text, text.hasPrefix("http://") else {
      return try ParamsValidation.url(text, "redirectURI")
    }
    _ = try ParamsValidation.url("https" + text.dropFirst("http".count), "redirectURI")
    return text
  }

  private static func binding(
    _ state: WireSecret?, _ challenge: String?
  ) throws(UsherError) -> CallersBinding? {
    if state == nil, challenge == nil { return nil }
    guard let state = state?.secret else {
      throw ParamsValidation.wrong("state", "is missing: it is required with codeChallenge")
    }
    guard let challenge else {
      throw ParamsValidation.wrong("codeChallenge", "is missing: it is required with state")
    }
    let text = state.revealed().utf8
    guard (8...512).contains(text.count), text.allSatisfy(\.isVisible) else {
      throw ParamsValidation.wrong(
        "state", "must be 8 to 512 printable ASCII characters without spaces")
    }
    guard challenge.utf8.count == 43, challenge.utf8.allSatisfy(\.isBase64URL) else {
      throw ParamsValidation.wrong("codeChallenge", "must be the 43 base64url characters of S256")
    }
    return CallersBinding(state: Sealed(state), challenge: challenge)
  }
}

extension UInt8 {
  fileprivate var isBase64URL: Bool {
    isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
  }
}
