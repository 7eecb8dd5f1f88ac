import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// How a flow stands beside its machine; after its end this is all that is left of it.
struct FlowEnding: Codable, Sendable, Equatable {
  var status: FlowStatus
  var result: JSONValue?
  var failure: Failure?
  /// What it leaves to later flows.
  var keepsake: Keepsake?

  static let active = FlowEnding(status: .active)
}

/// The sealed part of a flow's row.
struct StoredFlow<Machine: Codable>: Codable {
  /// The variety of the provider, which with the row's kind names the machine.
  var type: ProviderVariety
  /// Who started it; absent from flows of before this was kept.
  var client: String?
  /// Who ran that client; absent from flows of before a client could own them.
  var uid: UInt32?
  /// What it knows its credentials by; absent from flows of before this was kept, and from ended ones.
  var credentials: CredentialTags?
  /// Nil once the flow has ended: verifier, tokens and all are wiped with it.
  var machine: Machine?
  var state: String
  var ending: FlowEnding
}

/// What can be read of a stored flow before its machine's type is known.
private struct StoredHead: Codable {
  var type: ProviderVariety
  var client: String?
  var uid: UInt32?
  var credentials: CredentialTags?
  var state: String
  var ending: FlowEnding
}

/// A flow read back from the store.
struct RestoredFlow {
  var machine: (any AnyMachine)?
  var client: String?
  var uid: UInt32?
  var credentials: CredentialTags?
  var state: String
  var ending: FlowEnding

  /// - Throws: `storageUnavailable` when the row was sealed by us but makes no sense.
  init(_ row: FlowRow) throws(UsherError) {
    let head = try row.payload.decoded(as: StoredHead.self)
    client = head.client
    uid = head.uid
    credentials = head.credentials
    state = head.state
    ending = head.ending
    guard head.ending.status == .active else { return }
    guard let type = ProviderRegistry.flow(row.kind, of: head.type) else {
      throw UsherError(
        .storageUnavailable, "flow \(row.id) is of a kind this version does not know")
    }
    machine = try Self.machine(type, row.payload)
  }

  private static func machine<Machine: FlowMachine>(
    _ type: Machine.Type, _ payload: SealedPayload
  ) throws(UsherError) -> (any AnyMachine)? {
    try payload.decoded(as: StoredFlow<Machine>.self).machine.map { MachineBox(machine: $0) }
  }
}
