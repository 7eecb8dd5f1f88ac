import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Properties that many flows have in common, stored once in memory.
final class SharedFlowMetadata: Sendable {
  struct Key: Hashable {
    let owner: Owner
    let provider: ProviderName
    let kind: String
    /// The only client that sees the flow's steps and answers them. Nil for flows stored before
    /// this field existed, which every client of the owner may see and answer.
    let client: String?
    /// The user as which the client runs: its browser, passcode and fingerprints are accepted.
    let uid: UInt32
  }

  let key: Key
  /// The tags of the provider credentials with which the flow started. If they differ from the
  /// current ones, the provider has changed.
  let credentials: CredentialTags

  init(_ key: Key, _ credentials: CredentialTags = CredentialTags()) {
    self.key = key
    self.credentials = credentials
  }
}

/// Shares equal metadata between flows.
final class FlowMetadataPool: Sendable {
  /// The limit of shared entries; beyond it the table is cleared, because most entries are then
  /// stale.
  private static let maxEntries = 4096

  private let entries = Mutex<[SharedFlowMetadata.Key: SharedFlowMetadata]>([:])

  /// Returns the shared instance that equals `metadata`, or shares `metadata`.
  func shared(_ metadata: SharedFlowMetadata) -> SharedFlowMetadata {
    entries.withLock { entries in
      if let shared = entries[metadata.key], shared.credentials == metadata.credentials {
        return shared
      }
      if entries.count >= Self.maxEntries { entries = [:] }
      entries[metadata.key] = metadata
      return metadata
    }
  }
}
