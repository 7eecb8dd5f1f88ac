import UsherConfig
import UsherCore
import UsherFlows

extension ConfigStore {
  /// Returns a provider of the current configuration, or the daemon's own provider `local`.
  ///
  /// - Throws: `notFound` if there is no provider of this name.
  func provider(named name: ProviderName) throws(UsherError) -> ProviderConfig {
    guard let provider = current.provider(name) else { throw Self.unknown(name) }
    return provider
  }

  /// Returns the source of the tokens of the provider that has this name in the current
  /// configuration.
  ///
  /// - Throws: `notFound` if there is no provider of this name.
  func tokenPlace(of name: ProviderName) throws(UsherError) -> TokenPlace {
    guard let place = current.tokenPlace(of: name) else { throw Self.unknown(name) }
    return place
  }

  /// The name comes from the caller, so the error does not repeat a malformed name.
  private static func unknown(_ name: ProviderName) -> UsherError {
    let text = name.rawValue
    let isName = text.utf8.count <= 64 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    return UsherError(
      .notFound, "provider \(isName ? text : "of that name") does not exist", field: "provider")
  }
}

extension ProviderConfig {
  /// The provider's `type` in the configuration, such as `oidc`.
  var type: String { settings.type.rawValue }
}
