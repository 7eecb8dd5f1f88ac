import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Properties that many flows have in common.
struct FlowMetadata: Hashable {
  let owner: Owner
  let provider: ProviderName
  let kind: String
  /// The only client that sees the flow's steps and answers them. Nil for flows stored before this
  /// field existed, which every client of the owner may see and answer.
  let client: String?
  /// The user as which the client runs: its browser, passcode and fingerprints are accepted.
  let uid: UInt32
  /// The tags of the provider credentials with which the flow started. If they differ from the
  /// current ones, the provider has changed.
  var credentials = CredentialTags()
}

/// The metadata of one or more flows, stored once in memory.
final class SharedFlowMetadata: Sendable {
  let value: FlowMetadata

  init(_ value: FlowMetadata) { self.value = value }
}

/// Shares equal metadata between flows.
final class FlowMetadataPool: Sendable {
  /// The limit of shared entries; beyond it the table is cleared, because most entries are then
  /// stale.
  private static let maxEntries = 4096

  private let entries = Mutex<[FlowMetadata: SharedFlowMetadata]>([:])

  /// Returns the shared instance for `metadata`; creates a missing one.
  func shared(_ metadata: FlowMetadata) -> SharedFlowMetadata {
    entries.withLock { entries in
      if let shared = entries[metadata] { return shared }
      if entries.count >= Self.maxEntries { entries = [:] }
      let shared = SharedFlowMetadata(metadata)
      entries[metadata] = shared
      return shared
    }
  }
}
