import FoundationEssentials
import UsherCore

/// Keyed hashes of the provider credentials that were set when a flow began, by name. They show
/// whether a credential of that name still has the same value; no value can be derived from them.
struct CredentialTags: Codable, Sendable, Hashable {
  private var byName: [String: Data] = [:]

  /// Creates an empty set of tags, which matches no credential.
  init() {}

  init(_ values: [String: Secret], tag: (String, Secret) -> Data) {
    for (name, value) in values { byName[name] = tag(name, value) }
  }

  func has(_ name: String, _ tag: Data) -> Bool { byName[name] == tag }
}

/// The credentials that the HTTP request of a provider call may contain.
struct CallCredentials: Sendable {
  /// The credential that the provider's calls need; nil for an OAuth public client.
  var credential: Secret?
  /// The provider's credentials that are set, readable and may be sent in the call, by name.
  var named: [String: Secret] = [:]
  /// The reason why the needed credential cannot be read; nil if it can.
  var missing: UsherError?
  /// The reason why a credential that is set must not be used; nil if there is none.
  var change: UsherError?
}

extension UsherError {
  /// Returns the error for a flow's call if provider and credential have changed since its start.
  static func changed(_ provider: ProviderName, _ credential: String) -> UsherError {
    UsherError(
      .providerRejected,
      "provider \(provider) and its credential \(credential) were changed during the flow; start "
        + "a new flow")
  }

  /// Returns the error for a call outside a flow if the provider has changed during the call.
  static func changed(_ provider: ProviderName) -> UsherError {
    UsherError(.providerRejected, "provider \(provider) was changed during the call; try again")
  }
}
