import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// What `provider.check` says about assertions of others.
extension ProviderService {
  /// Returns one finding for each file that the provider's configuration names: whether it has an
  /// assertion that the daemon would present now.
  func assertionFiles(
    of provider: Provider<OIDCSettings>
  ) async -> [ProviderCheck.Finding] {
    var findings: [ProviderCheck.Finding] = []
    for path in provider.settings.assertionFiles {
      let subject = "file \(path)"
      do throws(UsherError) {
        let text = try await credentials.content(of: path)
        let file = try AssertionFile(text, at: path, now: clock.now())
        let end = file.endsAt.map { "it has an assertion that ends at \($0)" }
        findings.append(
          .init(
            subject: subject, fine: true, message: end ?? "it has an assertion without an end"))
      } catch {
        findings.append(.init(subject: subject, fine: false, message: error.message))
      }
    }
    return findings
  }

  /// Returns whether the identity provider whose assertions the provider accepts is one; empty if
  /// it accepts none.
  func identityProvider(of provider: Provider<OIDCSettings>) -> [ProviderCheck.Finding] {
    guard let name = provider.settings.identityAssertion.provider else { return [] }
    let other = configStore.current.config.provider(name)
    let isUsable = name != provider.name && other?.settings is OIDCSettings
    return [
      .init(
        subject: "identity provider", fine: isUsable,
        message: isUsable
          ? "its assertions come from provider \(name)"
          : "identity_assertion must name another provider of type oidc, and names \(name)")
    ]
  }
}
