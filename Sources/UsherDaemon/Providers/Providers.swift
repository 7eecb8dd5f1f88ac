import UsherConfig
import UsherCore
import UsherFlows

/// The currently configured providers, and the daemon's own provider `local`, by name.
struct Providers: Sendable {
  private let configStore: ConfigStore

  init(_ configStore: ConfigStore) { self.configStore = configStore }

  var all: [ProviderConfig] { configStore.current.config.providers }

  /// The providers whose flows can be started.
  var offered: [ProviderConfig] { all + [.local] }

  func named(_ name: ProviderName) throws(UsherError) -> ProviderConfig {
    guard let provider = configStore.current.provider(name) else { throw unknown(name) }
    return provider
  }

  /// Returns the source of the tokens of the provider that has this name in the current
  /// configuration.
  func tokenPlace(of name: ProviderName) throws(UsherError) -> TokenPlace {
    guard let place = configStore.current.tokenPlace(of: name) else { throw unknown(name) }
    return place
  }

  private func unknown(_ name: ProviderName) -> UsherError {
    UsherError(.notFound, "provider \(printable(name)) does not exist", field: "provider")
  }

  /// Returns a provider's name as an error message may contain it. The name comes from the caller,
  /// so a malformed name is not repeated.
  private func printable(_ name: ProviderName) -> String {
    let isName = name.rawValue.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    return isName && name.rawValue.utf8.count <= 64 ? name.rawValue : "of that name"
  }
}

extension ProviderConfig {
  /// The provider's `type` in the configuration, such as `oidc`.
  var type: String { settings.type.rawValue }
}
