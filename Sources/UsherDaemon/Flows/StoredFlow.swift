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
  var handoffSecret: HandoffSecret?

  static let active = FlowEnding(status: .active)
}

/// The sealed part of a flow's row beside its machine, which stands in it as the member `machine`.
struct StoredFlow: Codable {
  /// The variety of the provider, which with the row's kind names the machine.
  var type: ProviderVariety
  /// Who started it; absent from flows of before this was kept.
  var client: String?
  /// Who ran that client; absent from flows of before a client could own them.
  var uid: UInt32?
  /// What it knows its credentials by; absent from flows of before this was kept, and from ended ones.
  var credentials: CredentialTags?
  var state: String
  var ending: FlowEnding

  private static let machine = "machine"

  /// - Parameter machine: Its JSON; nil once the flow has ended: verifier, tokens and all are wiped
  ///   with it.
  func payload(with machine: [UInt8]?) throws(UsherError) -> SealedPayload {
    let head = try StoreCoder.encode(self)
    guard let machine else { return SealedPayload(head) }
    return SealedPayload(
      head.dropLast() + Array(",\"\(Self.machine)\":".utf8) + machine + [UInt8(ascii: "}")])
  }

  /// - Returns: Also where the machine is in the payload's bytes.
  static func reading(
    _ payload: SealedPayload
  ) throws(UsherError) -> (flow: StoredFlow, machine: Range<Int>?) {
    let bytes = payload.bytes
    guard let place = try ObjectMembers(ofStored: bytes)[machine] else {
      return (try payload.decoded(), nil)
    }
    let head = bytes[..<place.lowerBound] + Array("null".utf8) + bytes[place.upperBound...]
    return (try StoreCoder.decode(from: Array(head)), place)
  }
}

/// A flow read back from the store.
struct RestoredFlow: Sendable {
  var machine: (any AnyFlowMachine)?
  /// The same.
  var packed: PackedMachine?
  var client: String?
  var uid: UInt32?
  var credentials: CredentialTags?
  var state: String
  var ending: FlowEnding

  /// - Throws: `storageUnavailable` when the row was sealed by us but makes no sense.
  init(_ row: FlowRow, by coder: FlowCoder) throws(UsherError) {
    let (flow, place) = try StoredFlow.reading(row.payload)
    client = flow.client
    uid = flow.uid
    credentials = flow.credentials
    state = flow.state
    ending = flow.ending
    guard flow.ending.status == .active else { return }
    guard let type = ProviderRegistry.flow(row.kind, of: flow.type) else {
      throw UsherError(
        .storageUnavailable, "flow \(row.id) is of a kind this version does not know")
    }
    guard let place else { return }
    let packed = PackedMachine(
      type: Self.box(type), bytes: try coder.packed(row.payload.bytes, at: place), coder: coder)
    machine = try packed.unlocked()
    self.packed = packed
  }

  private static func box<Machine: FlowMachine>(_ type: Machine.Type) -> any AnyFlowMachine.Type {
    FlowMachineBox<Machine>.self
  }
}
