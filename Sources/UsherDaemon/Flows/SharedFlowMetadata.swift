import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// What many flows have alike.
final class SharedFlowMetadata: Sendable {
  let owner: Owner
  let provider: ProviderName
  let kind: String
  /// Whose steps these are: shown to this client only, and answered by it. Nil for a flow of before
  /// flows had one: it is any client's of the owner.
  let client: String?
  /// Who runs that client: whose browser, passcode and fingers are meant.
  let uid: UInt32
  /// What its flows know their credentials by, where the provider is another one meanwhile.
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

/// Families of flows, each kept once.
final class FlowFamilies: Sendable {
  private struct Key: Hashable {
    let owner: Owner
    let provider: ProviderName
    let kind: String
    let client: String?
    let uid: UInt32
  }

  /// More are not kept: they would be of users who are gone.
  private static let most = 4096

  private let known = Mutex<[Key: SharedFlowMetadata]>([:])

  /// The one that is kept of those like this one.
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
