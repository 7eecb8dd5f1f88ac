import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// The credentials for providers, set by `credential.set` or passed by systemd.
///
/// A stored credential takes precedence over systemd's credential of the same name, so that an
/// operator can replace a credential without restarting the daemon.
final class Credentials: Sendable {
  private let store: Store
  private let directory: CredentialsDirectory?
  private let disk: Disk
  private let files: SecretFiles
  /// The credentials that systemd passed, as of the opening of the store or the last reload.
  private let passed = Mutex(SystemdCredentials())
  private let stored: Mutex<[String: StoredCredential]>
  private let dependencies: Dependencies
  /// Held while a credential is changed, by its name.
  private let changes = AsyncKeyedLock<String>()

  private struct StoredCredential {
    var value: Secret
    var setAt: Timestamp?
    /// The registration that the value is; nil for a credential that an operator has set.
    var registration: ClientRegistration?

    init(_ name: String, _ value: Secret, setAt: Timestamp? = nil) {
      self.value = value
      self.setAt = setAt
      registration =
        RegisteredClient.isCredentialName(name) ? ClientRegistration(stored: value) : nil
    }
  }

  init(
    store: Store, passed: CredentialsDirectory?, on disk: Disk, dependencies: Dependencies
  ) throws(UsherError) {
    self.store = store
    directory = passed
    self.disk = disk
    files = SecretFiles(on: disk, dependencies: dependencies)
    self.dependencies = dependencies
    let rows = try store.loadCredentials().map { ($0.name, StoredCredential($0.name, $0.value)) }
    stored = Mutex(Dictionary(rows) { first, _ in first })
  }

  /// Reads the credentials that systemd passes now, without applying them. Blocks.
  func readPassed() -> SystemdCredentials { SystemdCredentials(directory, on: disk) }

  /// Replaces the credentials that systemd passed.
  ///
  /// - Parameter change: Runs under the same lock, so that no reader finds the new credentials
  ///   before the change or the old ones after it.
  /// - Returns: The names of the credentials whose effective value has changed.
  @discardableResult
  func install(_ passed: SystemdCredentials, with change: () -> Void = {}) -> Set<String> {
    let names = self.passed.withLock { current in
      defer { current = passed }
      change()
      return passed.names(otherThanIn: current)
    }
    return names.subtracting(stored.withLock { $0.keys })
  }

  /// Returns the credential that the provider's calls need.
  ///
  /// - Returns: The credential; nil for an OAuth public client.
  /// - Throws: An error whose message says how to set the missing credential, or how the provider
  ///   gets a client if it has none.
  func credential(of provider: ProviderConfig) throws(UsherError) -> Secret? {
    guard !provider.needsRegistration else {
      throw UsherError(.providerRejected, .unregistered(provider.name))
    }
    guard let name = provider.credentialName else { return nil }
    guard let credential = try credential(named: name) else {
      throw UsherError(.providerRejected, .missing(name, of: provider.name))
    }
    return credential
  }

  /// Returns all credentials of a provider that are set and readable, by name.
  func named(of provider: ProviderConfig) -> [String: Secret] {
    provider.definition.credentialNames.reduce(into: [:]) { found, name in
      found[name] = (try? credential(named: name)) ?? nil
    }
  }

  /// Returns the effective credential of that name, stored or passed by systemd; nil if not set.
  ///
  /// - Throws: If a client secret that the provider issued with a registration has expired.
  func credential(named name: String) throws(UsherError) -> Secret? {
    if let stored = stored.withLock({ $0[name] }) {
      guard RegisteredClient.isCredentialName(name) else { return stored.value }
      return try stored.registration?.validSecret(at: dependencies.clock.now(), of: name)
    }
    return try passed.withLock { $0 }.secret(named: name)
  }

  func set(_ call: CredentialSet) async throws(UsherError) -> Done {
    guard call.name.isCredentialName else {
      throw UsherError(.invalidParams, "name must be up to 128 of A-Z a-z 0-9 . _ -", field: "name")
    }
    guard !RegisteredClient.isCredentialName(call.name) else {
      throw UsherError(
        .invalidParams,
        "a name with \(RegisteredClient.credentialPrefix) is that of a registration; run: usherctl "
          + "provider register", field: "name")
    }
    guard (1...65_536).contains(call.value.revealed().utf8.count) else {
      throw UsherError(.invalidParams, "value must have 1 to 65536 bytes", field: "value")
    }
    try await changes.withLock(call.name) { () throws(UsherError) in
      try await put(call.value.secret, named: call.name)
    }
    await applyChange(of: call.name)
    return Done()
  }

  /// Stores a credential unless one of that name is set.
  ///
  /// - Returns: The credential that is set now. All of several simultaneous callers get the same.
  func setIfMissing(
    _ name: String, _ make: () throws(UsherError) -> Secret
  ) async throws(UsherError) -> Secret {
    let (value, isNew) = try await changes.withLock(name) {
      () throws(UsherError) -> (Secret, Bool) in
      if let present = try credential(named: name) { return (present, false) }
      let made = try make()
      try await put(made, named: name)
      return (made, true)
    }
    if isNew { await applyChange(of: name) }
    return value
  }

  private func put(_ value: Secret, named name: String) async throws(UsherError) {
    try await store.commit([.putCredential(name, value)])
    let now = dependencies.clock.now()
    stored.withLock { $0[name] = StoredCredential(name, value, setAt: now) }
  }

  func delete(_ call: CredentialDelete) async throws(UsherError) -> Done {
    try await changes.withLock(call.name) { () throws(UsherError) in
      guard stored.withLock({ $0[call.name] }) != nil else {
        throw UsherError(
          .notFound, "no credential of this name is stored; see: usherctl credential list")
      }
      try await store.commit([.deleteCredential(call.name)])
      stored.withLock { _ = $0.removeValue(forKey: call.name) }
    }
    await applyChange(of: call.name)
    return Done()
  }

  /// Notifies the observers of the providers whose configuration names a changed credential. If it
  /// is a registration, the provider's client changes first.
  private func applyChange(of credential: String) async {
    var changed = dependencies.config.providers(naming: [credential])
    if RegisteredClient.isCredentialName(credential) {
      installClients()
      let name = credential.dropFirst(RegisteredClient.credentialPrefix.count)
      changed.insert(ProviderName(String(name)))
    }
    if !changed.isEmpty { await dependencies.configStore.notify(changed) }
  }

  func list() throws(UsherError) -> CredentialList.Reply {
    let stored = stored.withLock { $0 }
    let own = stored.map { CredentialList.Entry(name: $0, source: .store, setAt: $1.setAt) }
    let others = try passed.withLock { $0 }.names().filter { stored[$0] == nil }
      .map { CredentialList.Entry(name: $0, source: .systemd, setAt: nil) }
    return .init(credentials: (own + others).sorted { $0.name < $1.name })
  }
}

// The clients as which the daemon has registered itself.
extension Credentials {
  /// Returns the daemon's registration at a provider; nil if there is none.
  func registration(at provider: ProviderName) -> ClientRegistration? {
    let name = RegisteredClient.credentialName(of: provider)
    return stored.withLock { $0[name]?.registration }
  }

  func setRegistration(
    _ registration: ClientRegistration, at provider: ProviderName
  ) async throws(UsherError) {
    let name = RegisteredClient.credentialName(of: provider)
    try await changes.withLock(name) { () throws(UsherError) in
      try await put(registration.stored, named: name)
    }
    await applyChange(of: name)
  }

  /// Makes the stored registrations the clients of their providers.
  ///
  /// Both happen under one lock: otherwise the registrations that one of two simultaneous calls has
  /// read could replace the newer ones of the other call.
  func installClients() {
    let prefix = RegisteredClient.credentialPrefix
    stored.withLock { stored in
      let clients = stored.compactMap { name, credential in
        credential.registration.map {
          (ProviderName(String(name.dropFirst(prefix.count))), $0.client)
        }
      }
      dependencies.configStore.replaceClients(by: Dictionary(clients) { first, _ in first })
    }
  }
}

extension ClientRegistration {
  /// Returns the client secret.
  ///
  /// - Throws: If it has expired, with the command that gets another one.
  fileprivate func validSecret(at now: Timestamp, of name: String) throws(UsherError) -> Secret? {
    guard let secretExpiresAt, secretExpiresAt <= now else { return secret }
    let provider = name.dropFirst(RegisteredClient.credentialPrefix.count)
    let remedy =
      management == nil
      ? "usherctl credential delete \(name), then usherctl provider register \(provider)"
      : "usherctl provider register \(provider) --update"
    throw UsherError(
      .providerRejected,
      "the client secret of provider \(provider) expired at \(secretExpiresAt); run: \(remedy)")
  }
}

// Credentials for calls to providers.
extension Credentials {
  /// Reads files that other programs write, each as it is now.
  ///
  /// - Returns: The contents by path.
  func contents(of files: [String]) async throws(UsherError) -> [String: Secret] {
    var contents: [String: Secret] = [:]
    for file in files { contents[file] = try await content(of: file) }
    return contents
  }

  func content(of file: String) async throws(UsherError) -> Secret {
    try await files.content(of: file)
  }

  /// Returns the tags by which a flow that starts now recognizes its provider's credentials later.
  ///
  /// - Returns: Empty tags if the provider's name means another provider by now, because the
  ///   credentials that were read are then not this provider's.
  func tags(of provider: ProviderConfig) -> CredentialTags {
    let values = named(of: provider)
    guard isCurrent(provider) else { return CredentialTags() }
    return CredentialTags(values) { store.tag(ofCredential: $1, named: $0) }
  }

  /// Returns the credentials with which a provider call may be rendered. If the provider has been
  /// reconfigured, a credential is permitted only if the call's flow began with the same value.
  ///
  /// - Parameter flow: The credential tags of the call's flow; nil for a call outside a flow.
  func callCredentials(of provider: ProviderConfig, in flow: CredentialTags?) -> CallCredentials {
    var result = CallCredentials()
    do throws(UsherError) {
      _ = try credential(of: provider)
    } catch {
      result.missing = error
    }
    let values = named(of: provider)
    // Checked after the credentials were read, because a reload replaces credentials and providers
    // together.
    let isCurrent = isCurrent(provider)
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      if isCurrent || flow?.has(name, store.tag(ofCredential: value, named: name)) ?? false {
        result.named[name] = value
      } else if result.change == nil {
        result.change = flow == nil ? .changed(provider.name) : .changed(provider.name, name)
      }
    }
    result.credential = provider.credentialName.flatMap { result.named[$0] }
    return result
  }

  private func isCurrent(_ provider: ProviderConfig) -> Bool {
    dependencies.configStore.current.provider(provider.name) == provider
  }
}

extension Config {
  /// Returns the names of the providers whose configuration names one of the credentials.
  func providers(naming credentials: Set<String>) -> Set<ProviderName> {
    let naming = providers.filter {
      !credentials.isDisjoint(with: $0.definition.credentialNames)
    }
    return Set(naming.map(\.name))
  }
}
