import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// The provider credentials, set by `credential.set` or passed by systemd.
///
/// A stored credential takes precedence over systemd's of the same name, so that an operator can
/// replace it without a restart.
final class Credentials: Sendable {
  private let store: Store
  private let directory: CredentialsDirectory?
  private let disk: any Disk
  /// systemd's credentials as of the store's start or the last reload.
  private let handed = Mutex(HandedCredentials())
  private let kept: Mutex<[String: Kept]>
  private let dependencies: Dependencies

  private struct Kept {
    var value: Secret
    var setAt: Timestamp?
  }

  init(
    store: Store, handed: CredentialsDirectory?, on disk: any Disk, dependencies: Dependencies
  ) throws(UsherError) {
    self.store = store
    directory = handed
    self.disk = disk
    self.dependencies = dependencies
    let rows = try store.loadCredentials().map { ($0.name, Kept(value: $0.value)) }
    kept = Mutex(Dictionary(rows) { first, _ in first })
  }

  /// Reads systemd's current credentials without applying them. Blocks.
  func reread() -> HandedCredentials { HandedCredentials(directory, on: disk) }

  /// Replaces systemd's credentials.
  ///
  /// - Parameter change: Runs under the same lock: no reader finds the new credentials before it,
  ///   or the old ones after it.
  /// - Returns: The names whose effective credential has changed.
  @discardableResult
  func install(_ handed: HandedCredentials, with change: () -> Void = {}) -> Set<String> {
    let names = self.handed.withLock { current in
      defer { current = handed }
      change()
      return handed.names(otherThanIn: current)
    }
    return names.subtracting(kept.withLock { $0.keys })
  }

  /// Returns the credential that the provider's calls need.
  ///
  /// - Returns: Nil for a public client.
  /// - Throws: A message that says how to set the missing credential.
  func credential(of provider: ProviderConfig) throws(UsherError) -> Secret? {
    guard let name = provider.credentialName else { return nil }
    guard let credential = try credential(named: name) else {
      throw UsherError(.providerRejected, .missing(name, of: provider.name))
    }
    return credential
  }

  /// Returns all of a provider's credentials that are set and readable.
  func named(of provider: ProviderConfig) -> [String: Secret] {
    provider.credentialNames.reduce(into: [:]) { found, name in
      found[name] = (try? credential(named: name)) ?? nil
    }
  }

  /// Returns the credential of that name; nil if it is not set.
  func credential(named name: String) throws(UsherError) -> Secret? {
    if let kept = kept.withLock({ $0[name]?.value }) { return kept }
    return try handed.withLock { $0 }.secret(named: name)
  }

  func set(_ call: CredentialSet) async throws(UsherError) -> Done {
    guard call.name.isCredentialName else {
      throw UsherError(.invalidParams, "name must be up to 128 of A-Z a-z 0-9 . _ -", field: "name")
    }
    guard (1...65_536).contains(call.value.revealed().utf8.count) else {
      throw UsherError(.invalidParams, "value must have 1 to 65536 bytes", field: "value")
    }
    try await store.commit([.putCredential(call.name, call.value.secret)])
    let now = dependencies.clock.now()
    kept.withLock { $0[call.name] = Kept(value: call.value.secret, setAt: now) }
    return Done()
  }

  func delete(_ call: CredentialDelete) async throws(UsherError) -> Done {
    guard kept.withLock({ $0[call.name] }) != nil else {
      throw UsherError(.notFound, "no stored credential has this name")
    }
    try await store.commit([.deleteCredential(call.name)])
    kept.withLock { _ = $0.removeValue(forKey: call.name) }
    return Done()
  }

  func list() throws(UsherError) -> CredentialList.Reply {
    let kept = kept.withLock { $0 }
    let own = kept.map { CredentialList.Entry(name: $0, source: .store, setAt: $1.setAt) }
    let others = try handed.withLock { $0 }.names().filter { kept[$0] == nil }
      .map { CredentialList.Entry(name: $0, source: .systemd, setAt: nil) }
    return .init(credentials: (own + others).sorted { $0.name < $1.name })
  }
}

// Credentials for calls.
extension Credentials {
  /// Returns the tags by which a starting flow recognizes its provider's credentials later.
  ///
  /// - Returns: Empty tags if the name now means another provider, because the credentials read are
  ///   not this provider's.
  func tags(of provider: ProviderConfig) -> CredentialTags {
    let values = named(of: provider)
    guard isCurrent(provider) else { return CredentialTags() }
    return CredentialTags(values) { store.tag(ofCredential: $1, named: $0) }
  }

  /// Returns the credentials that a call may be rendered with. If its provider is no longer
  /// configured under that name, a credential is permitted only if the flow began with the same
  /// value.
  ///
  /// - Parameter flow: The credential tags of the call's flow; nil for a call outside a flow.
  func proofs(of provider: ProviderConfig, in flow: CredentialTags?) -> Proofs {
    var proofs = Proofs()
    do throws(UsherError) {
      _ = try credential(of: provider)
    } catch {
      proofs.lack = error
    }
    let values = named(of: provider)
    // Checked after the reading: a reload replaces credentials and providers together.
    let isCurrent = isCurrent(provider)
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      if isCurrent || flow?.has(name, store.tag(ofCredential: value, named: name)) ?? false {
        proofs.named[name] = value
      } else if proofs.change == nil {
        proofs.change = flow == nil ? .changed(provider.name) : .changed(provider.name, name)
      }
    }
    proofs.credential = provider.credentialName.flatMap { proofs.named[$0] }
    return proofs
  }

  private func isCurrent(_ provider: ProviderConfig) -> Bool {
    dependencies.configStore.current.provider(provider.name) == provider
  }
}
