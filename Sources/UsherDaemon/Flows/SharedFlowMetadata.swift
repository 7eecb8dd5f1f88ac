import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Metadata that many flows have in common, stored once in memory.
final class SharedFlowMetadata: Sendable {
  let owner: Owner
  let provider: ProviderName
  let kind: String
  /// The only client that sees the flow's steps and answers them. Nil for flows stored before this
  /// field existed: every client of the owner may then.
  let client: String?
  /// The user that the client runs as; this user's browser, passcode and fingerprints count.
  let uid: UInt32
  /// The tags of the credentials that the flow started with; they reveal that the provider has
  /// changed.
  let credentials: CredentialTags

  init(
    owner: Owner, provider: ProviderName, kind: String, client: String?, uid: UInt32?,
    credentials: CredentialTags?
  ) {
    self.owner = owner
    self.provider = provider
    self.kind = kind
    self.client = client
    self.uid = uid ?? owner.uid
    self.credentials = credentials ?? CredentialTags()
  }
}

/// Shares equal metadata between flows.
final class FlowFamilies: Sendable {
  private struct Key: Hashable {
    let owner: Owner
    let provider: ProviderName
    let kind: String
    let client: String?
    let uid: UInt32
  }

  /// The limit of shared entries; beyond it the table is cleared, because most entries are then
  /// stale.
  private static let most = 4096

  private let known = Mutex<[Key: SharedFlowMetadata]>([:])

  /// Returns the shared instance that equals `family`, or shares `family`.
  func kept(_ family: SharedFlowMetadata) -> SharedFlowMetadata {
    let key = Key(
      owner: family.owner, provider: family.provider, kind: family.kind, client: family.client,
      uid: family.uid)
    return known.withLock { known in
      if let kept = known[key], kept.credentials == family.credentials { return kept }
      if known.count >= Self.most { known = [:] }
      known[key] = family
      return family
    }
  }
}
