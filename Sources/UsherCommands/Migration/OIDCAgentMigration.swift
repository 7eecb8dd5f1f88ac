import UsherConfig
import UsherCore

/// The providers of usherd that correspond to the issuers of oidc-agent.
struct OIDCAgentMigration {
  struct Provider: Equatable {
    var name: String
    var issuer: String
    /// The names of oidc-agent's accounts there.
    var accounts: [String]
    /// The name of the credential to set; nil for a public client.
    var credential: String?
    /// The `[[provider]]` table.
    var text: String
  }

  /// The redirect address, one of those for which oidc-agent registers its clients.
  static let redirect = "http://localhost:4242"

  private(set) var providers: [Provider] = []
  /// The issuers without a provider, each with the reason, as sentences.
  private(set) var omitted: [String] = []

  /// - Parameters:
  ///   - config: The present configuration: issuers that it has are left out.
  ///   - takesAll: Whether issuers without an account are taken, too.
  init(_ folder: OIDCAgentFolder, beside config: Config, takesAll: Bool) {
    let used = folder.issuers.filter { !$0.accounts.isEmpty }
    var names = Set(config.providers.map(\.name.rawValue))
    for issuer in takesAll || used.isEmpty ? folder.issuers : used {
      if let present = config.providers.first(where: { $0.isAt(issuer.url) }) {
        omitted.append("\(issuer.url) is configured already, as provider \(present.name)")
        continue
      }
      switch Self.provider(issuer, named: Self.name(for: issuer, besides: names)) {
      case .success(let provider):
        names.insert(provider.name)
        providers.append(provider)
      case .failure(let reason): omitted.append("\(issuer.url) \(reason.text)")
      }
    }
  }

  /// The tables of all providers.
  var text: String { providers.map(\.text).joined(separator: "\n") }

  private struct Reason: Error { let text: String }

  private static func provider(
    _ issuer: OIDCAgentFolder.Issuer, named name: String
  ) -> Result<Provider, Reason> {
    guard issuer.isOAuth != true else {
      return .failure(
        Reason(text: "is no OpenID provider: configure it with type = \"oauth2\""))
    }
    guard let client = issuer.client else {
      return .failure(
        Reason(
          text: "has no public client that is known: register a client with the redirect address "
            + "http://127.0.0.1/callback, and configure the provider with its client_id"))
    }
    let credential = client.hasSecret ? "\(name)-client-secret" : nil
    for redirect in client.redirectURIs.filter({ $0.hasPrefix("http:") }) + [Self.redirect] {
      let text = text(issuer, client, name, redirect, credential)
      if (try? Config.load(files: [(path: "oidc-agent", text: text)])) != nil {
        return .success(
          Provider(
            name: name, issuer: issuer.url, accounts: issuer.accounts, credential: credential,
            text: text))
      }
    }
    return .failure(Reason(text: "has settings that usherd does not accept"))
  }

  private static func text(
    _ issuer: OIDCAgentFolder.Issuer, _ client: OIDCAgentFolder.Client, _ name: String,
    _ redirect: String, _ credential: String?
  ) -> String {
    var settings: [(String, TomlValue)] = [
      ("name", .string(name)), ("type", .string("oidc")), ("issuer", .string(issuer.url)),
      ("client_id", .string(client.id)),
    ]
    if let credential { settings.append(("client_credential", .string(credential))) }
    let scopes = (client.scope ?? "").split(separator: " ").map(String.init)
    if scopes.contains("openid") {
      settings.append(("scopes", .array(scopes.map { TomlNode(.string($0)) })))
    }
    settings.append(("redirect", .string(redirect)))
    let parameter = issuer.usesAudience == true ? "audience" : "resource"
    settings.append(("audience_parameter", .string(parameter)))
    let provider = TomlTable(settings.map { TomlTable.Entry($0.0, TomlNode($0.1)) })
    let root = TomlTable.Entry("provider", TomlNode(.array([TomlNode(.table(provider))])))
    return TomlTable([root]).text
  }

  /// Returns a name for a provider: that of its default account or only account, else its host,
  /// with a number if others have that name.
  private static func name(
    for issuer: OIDCAgentFolder.Issuer, besides names: Set<String>
  ) -> String {
    let account =
      issuer.defaultAccount ?? (issuer.accounts.count == 1 ? issuer.accounts[0] : nil)
    let host = issuer.url.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    let base = [account ?? "", host, "provider"].lazy.map(\.asProviderName).first { !$0.isEmpty }
    let name = base ?? "provider"
    guard names.contains(name) else { return name }
    return (2...).lazy.map { "\(name)-\($0)" }.first { !names.contains($0) } ?? name
  }
}

extension ProviderConfig {
  /// Whether this is a provider at an issuer, whether or not that ends with a slash.
  fileprivate func isAt(_ issuer: String) -> Bool {
    guard let settings = settings.view(as: OIDCSettings.self), settings.oauth2 == nil else {
      return false
    }
    let text = settings.issuer.text
    return text.hasSameBytes(as: issuer) || (text + "/").hasSameBytes(as: issuer)
      || text.hasSameBytes(as: issuer + "/")
  }
}

extension String {
  /// The text as the name of a provider, with a hyphen for what such a name must not have.
  fileprivate var asProviderName: String {
    let name = lowercased().unicodeScalars.map { scalar in
      switch scalar {
      case "a"..."z", "0"..."9", ".", "_", "-": String(scalar)
      default: "-"
      }
    }.joined()
    return String(name.drop { "._-".contains($0) }.prefix(50))
  }
}
