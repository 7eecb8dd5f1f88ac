import JSONRPC
import UsherConfig
import UsherCore

extension OIDCMetadata {
  /// Returns the configured scope without `offline_access` if the provider lists its scopes and
  /// that is not among them: such a provider issues refresh tokens by other means, or none, and
  /// may refuse the scope.
  func known(in scope: String) -> String {
    guard let scopes, !scopes.contains(where: { $0.hasSameBytes(as: "offline_access") }) else {
      return scope
    }
    return scope.split(separator: " ").filter { !String($0).hasSameBytes(as: "offline_access") }
      .joined(separator: " ")
  }
}

extension OIDCMetadata {
  /// Returns why the provider cannot answer in a response mode, as a sentence; nil if it can, or if
  /// its metadata lists no modes.
  func flaw(ofResponseMode mode: OIDCResponseMode) -> String? {
    guard mode != .query, let responseModes,
      !responseModes.contains(where: { $0.hasSameBytes(as: mode.rawValue) })
    else { return nil }
    return "the provider does not offer the response mode \(mode.rawValue): set response_mode to "
      + "one that it offers, found \(ProviderText.found(responseModes.joined(separator: ", ")))"
  }

  /// Why the provider does not support PKCE, as a sentence; nil if it does, or if its metadata does
  /// not list the methods.
  fileprivate var flawOfPKCE: String? {
    guard let methods = codeChallengeMethods, !methods.contains("S256") else { return nil }
    return "the provider does not support PKCE with S256: its code_challenge_methods_supported is ["
      + "\(ProviderText.clean(methods.joined(separator: ", ")))]"
  }

  /// Returns the scope with `offline_access` if the provider lists that among its scopes.
  func addingOfflineAccess(to scope: String) -> String {
    let word = "offline_access"
    guard scopes?.contains(where: { $0.hasSameBytes(as: word) }) ?? false,
      !scope.split(separator: " ").contains(where: { String($0).hasSameBytes(as: word) })
    else { return scope }
    return scope.isEmpty ? word : scope + " " + word
  }
}

extension OIDCSettings {
  /// Returns why the authorization code flow cannot be used at the provider as the configuration
  /// demands, as a sentence; nil if it can, or if the metadata does not tell.
  package func flaw(ofAuthorizationAt metadata: OIDCMetadata) -> String? {
    metadata.flaw(ofResponseMode: responseMode) ?? (pkce ? metadata.flawOfPKCE : nil)
      ?? profile.flaw(ofAuthorizationAt: metadata, for: self)
  }
}

extension OIDCSettings {
  /// Returns the parameters that request a token for audiences; spaces separate several values.
  func fields(forAudiences audiences: [String]) -> [(name: String, value: String)] {
    guard let audienceParameter, !audiences.isEmpty else { return [] }
    return [(audienceParameter.rawValue, audiences.joined(separator: " "))]
  }

  /// Returns the parameters with the audiences of a sign-in, and the configured `audience`, which
  /// is one of them if both have the same name.
  func fields(forSignInWith audiences: [String]) -> [(name: String, value: String)] {
    guard let audience else { return fields(forAudiences: audiences) }
    guard audienceParameter == .audience else {
      return [("audience", audience)] + fields(forAudiences: audiences)
    }
    let others = audiences.filter { !$0.hasSameBytes(as: audience) }
    return fields(forAudiences: [audience] + others)
  }
}

extension OIDCSettings {
  /// The end of a message that no audience can be chosen at this provider: what to do about it.
  package var audienceAdvice: String {
    oauth2 == nil
      ? ", or set audience_parameter if the provider can be asked for others"
      : ", since providers of type oauth2 cannot be asked for others"
  }
}

/// Checks the parameters of a sign-in that the caller provides.
enum OIDCRequest {
  /// Returns the audiences to name: the caller's, or the configured ones if the caller names none;
  /// nil if there are none.
  ///
  /// - Throws: `invalidParams` if the provider knows no audiences, or one is malformed.
  static func audiences(
    _ requested: [String]?, _ settings: OIDCSettings
  ) throws(UsherError) -> [String]? {
    guard let requested else { return settings.audiences.isEmpty ? nil : settings.audiences }
    guard let parameter = settings.audienceParameter else {
      throw ParamsValidation.wrong(
        "audiences",
        "cannot be chosen at this provider: omit audiences" + settings.audienceAdvice)
    }
    guard !settings.tokenExchange else {
      throw ParamsValidation.wrong(
        "audiences", "are not named in a sign-in at this provider: token_exchange needs none")
    }
    guard requested.count <= OIDCSettings.maxAudiences else {
      throw ParamsValidation.wrong(
        "audiences", "must be at most \(OIDCSettings.maxAudiences)")
    }
    if let violation = requested.lazy.compactMap(parameter.violation).first {
      throw ParamsValidation.wrong("audiences", "each \(violation)")
    }
    return requested.isEmpty ? nil : requested
  }

  /// The maximum length of the parameter `claims` in bytes.
  static let maxClaimsLength = 4096

  /// Returns the parameter `claims` as JSON text (OIDC Core §5.5); nil for nil.
  ///
  /// - Throws: `invalidParams` if the object has another form, or the provider has no ID tokens.
  static func claims(
    _ requested: [String: JSONValue]?, _ settings: OIDCSettings
  ) throws(UsherError) -> String? {
    guard let requested else { return nil }
    guard settings.hasIDTokens else {
      throw ParamsValidation.wrong("claims", "can be requested at a provider of type oidc only")
    }
    for (name, members) in requested {
      guard ["userinfo", "id_token"].contains(name), let members = members.objectValue,
        members.values.allSatisfy({ $0.isNull || $0.objectValue != nil })
      else {
        throw ParamsValidation.wrong(
          "claims",
          "must have the members userinfo or id_token, with null or an object for each claim")
      }
    }
    let text = JSONValue.object(requested).encoded()
    guard text.count <= maxClaimsLength else {
      throw ParamsValidation.wrong("claims", "must be at most \(maxClaimsLength) bytes of JSON")
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the classes of authentication of which an ID token must name one, because `claims`
  /// requests `acr` as essential with these values (OIDC Core §5.5.1.1); nil if it does not.
  static func essentialClasses(in claims: String?) -> [String]? {
    guard let claims, let members = try? JSONValue(parsing: Array(claims.utf8)),
      let request = members["id_token"]?["acr"], request["essential"] == .bool(true)
    else { return nil }
    let values = request["values"]?.arrayValue ?? [request["value"] ?? .null]
    let classes = values.compactMap(\.stringValue)
    return classes.isEmpty ? nil : classes
  }

  /// Returns the scope to request: the caller's, or the configured one if the caller names none.
  /// For an OpenID provider `openid` is added if it is missing.
  ///
  /// - Throws: `invalidParams` if the text is not a valid scope (RFC 6749 §3.3).
  static func scope(_ requested: String?, _ settings: OIDCSettings) throws(UsherError) -> String {
    guard let requested else { return settings.scopes.joined(separator: " ") }
    let scope = try words(of: requested)
    return !settings.hasIDTokens || scope.split(separator: " ").contains("openid")
      ? scope : "openid " + scope
  }

  /// Returns a caller's scope with single spaces between its words.
  ///
  /// - Throws: `invalidParams` if the text is not a valid scope (RFC 6749 §3.3).
  static func words(of requested: String) throws(UsherError) -> String {
    let isToken: (UInt8) -> Bool = { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    let tokens = requested.split(separator: " ")
    guard !tokens.isEmpty, requested.utf8.count <= 2048,
      tokens.allSatisfy({ $0.utf8.allSatisfy(isToken) })
    else { throw ParamsValidation.wrong("scope", "must be scopes separated by spaces") }
    return tokens.joined(separator: " ")
  }
}
