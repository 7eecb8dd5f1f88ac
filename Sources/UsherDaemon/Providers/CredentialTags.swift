import FoundationEssentials
import UsherCore

/// By what a flow knows the credentials that its provider named when it began, though others may stand
/// under their names since: a keyed hash of each one that was set, never a value.
struct CredentialTags: Codable, Sendable, Equatable {
  private var byName: [String: Data] = [:]

  /// Nothing is known by it.
  init() {}

  init(_ values: [String: Secret], tag: (String, Secret) -> Data) {
    for (name, value) in values { byName[name] = tag(name, value) }
  }

  func has(_ name: String, _ tag: Data) -> Bool { byName[name] == tag }
}

/// What a call may be rendered with.
struct Proofs: Sendable {
  /// The credential that the provider's calls need; nil for a public client.
  var credential: Secret?
  /// All that may be used, by their names.
  var named: [String: Secret] = [:]
  /// Why the one that they need cannot be had.
  var lack: UsherError?
  /// Why one that is there must not be used.
  var change: UsherError?
}

extension UsherError {
  /// For the flow of a provider that is another now, and whose credential is.
  static func changed(_ provider: ProviderName, _ credential: String) -> UsherError {
    UsherError(
      .providerRejected,
      "provider \(provider) and its credential \(credential) were changed while the flow was under "
        + "way; begin again")
  }

  /// For a call that no flow makes.
  static func changed(_ provider: ProviderName) -> UsherError {
    UsherError(.providerRejected, "provider \(provider) was changed meanwhile; ask again")
  }
}
