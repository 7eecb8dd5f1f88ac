import UsherConfig
package import UsherCore

/// What a provider has granted to an account. A later sign-in that names the account requests it
/// again, so that no program loses it.
package struct GrantedAccess: Sendable, Equatable {
  package var scope: String
  package var audiences: [String]
  /// The name that the provider has given to the grant; nil if it has given none.
  package var grantID: Sealed<Secret>?

  package init(scope: String, audiences: [String]) {
    self.scope = scope
    self.audiences = audiences
  }
}

extension FlowContext<OIDCSettings> {
  /// Returns a requested scope, together with the rest of what the named account has.
  func withGranted(scope: String) -> String {
    guard let granted else { return scope }
    let words = scope.split(separator: " ").map(String.init)
    return words.adding(granted.scope.split(separator: " ").map(String.init))
      .joined(separator: " ")
  }

  /// Returns requested audiences, together with the rest of those that the named account has; nil
  /// if there are none.
  func withGranted(audiences: [String]?) -> [String]? {
    // With token exchange, the provider decides about audiences at each exchange.
    guard let granted, let parameter = provider.settings.audienceParameter,
      !provider.settings.tokenExchange
    else { return audiences }
    let all = (audiences ?? []).adding(
      granted.audiences.filter { parameter.violation($0) == nil })
    return all.isEmpty ? nil : Array(all.prefix(OIDCSettings.maxAudiences))
  }
}

extension [String] {
  /// Returns these words and those of `others` that have other bytes.
  fileprivate func adding(_ others: [String]) -> [String] {
    others.reduce(into: self) { words, other in
      if !words.contains(where: { $0.hasSameBytes(as: other) }) { words.append(other) }
    }
  }
}
