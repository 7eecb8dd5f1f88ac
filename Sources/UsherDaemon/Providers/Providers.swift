import UsherConfig
import UsherCore
import UsherFlows

/// The providers that are configured just now and the daemon's own, by the name callers say.
struct Providers: Sendable {
  private let configStore: ConfigStore

  init(_ configStore: ConfigStore) { self.configStore = configStore }

  /// The configured ones.
  var all: [ProviderConfig] { configStore.current.config.providers }

  /// All whose flows can be started.
  var offered: [ProviderConfig] { all + [.local] }

  func named(_ name: ProviderName) throws(UsherError) -> ProviderConfig {
    guard let provider = configStore.current.provider(name) else { throw unknown(name) }
    return provider
  }

  /// Where the tokens of the provider are from that is called so just now.
  func tokenPlace(of name: ProviderName) throws(UsherError) -> TokenPlace {
    guard let place = configStore.current.tokenPlace(of: name) else { throw unknown(name) }
    return place
  }

  private func unknown(_ name: ProviderName) -> UsherError {
    UsherError(
      .notFound, "there is no provider \(printable(name))", detail: .init(field: "provider"))
  }

  /// What a caller wrote may be anything: only a possible name is repeated.
  private func printable(_ name: ProviderName) -> String {
    let isName = name.rawValue.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    return isName && name.rawValue.utf8.count <= 64 ? name.rawValue : "of that name"
  }
}

extension ProviderConfig {
  /// The configuration's word for the kind of provider: `oidc`, …
  var type: String { settings.type.rawValue }
}
