import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// A flow's status, result and failure, apart from its machine: all that is kept after its end.
struct FlowEnding: Codable, Sendable, Equatable {
  var status: FlowStatus
  var result: JSONValue?
  var failure: Failure?
  /// The secret that the ended flow leaves for later flows of the same client.
  var handoffSecret: HandoffSecret?

  static let active = FlowEnding(status: .active)
}

/// The encrypted payload of a flow's row. In its JSON, `machine` is the flow's machine.
struct StoredFlow: Codable {
  /// The variety of the provider's type, which with the row's kind determines the machine's type.
  var type: ProviderVariety
  /// The client that started the flow; nil in rows that older versions wrote.
  var client: String?
  /// The user as which the client ran; nil in rows from before clients could own flows.
  var uid: UInt32?
  /// The tags of the credentials with which the flow started; nil in rows that older versions wrote
  /// and in ended flows.
  var credentials: CredentialTags?
  var state: String
  var ending: FlowEnding

  private static let machine = "machine"

  /// Encodes the payload.
  ///
  /// - Parameter machine: The machine's JSON; nil once the flow has ended, so that the PKCE
  ///   verifier and tokens in it are deleted.
  func payload(with machine: [UInt8]?) throws(UsherError) -> SealedPayload {
    let head = try StoreCoder.encode(self)
    guard let machine else { return SealedPayload(head) }
    return SealedPayload(
      head.dropLast() + Array(",\"\(Self.machine)\":".utf8) + machine + [UInt8(ascii: "}")])
  }

  /// Decodes the payload of a flow's row.
  ///
  /// - Returns: The decoded part, and the position of the machine's JSON in the payload's bytes.
  static func reading(
    _ payload: SealedPayload
  ) throws(UsherError) -> (flow: StoredFlow, machine: Range<Int>?) {
    let bytes = payload.bytes
    guard let range = try ObjectMembers(ofStored: bytes)[machine] else {
      return (try payload.decoded(), nil)
    }
    let head = bytes[..<range.lowerBound] + Array("null".utf8) + bytes[range.upperBound...]
    return (try StoreCoder.decode(from: Array(head)), range)
  }
}

/// A flow that was read from the store at a start of the daemon.
struct RestoredFlow: Sendable {
  let stored: StoredFlow
  private(set) var machine: (any FlowMachine)?
  /// The packed form of `machine`, which a hibernating flow keeps.
  private(set) var packed: PackedMachine?

  /// Decodes the row of a flow.
  ///
  /// - Throws: `storageUnavailable` if the row decrypts but its content is not valid.
  init(_ row: FlowRow, by coder: FlowCoder) throws(UsherError) {
    let (stored, range) = try StoredFlow.reading(row.payload)
    self.stored = stored
    guard stored.ending.status == .active else { return }
    guard let type = ProviderRegistry.flow(row.kind, of: stored.type) else {
      throw UsherError(
        .storageUnavailable,
        "flow \(row.id) is of a kind that this usherd does not know; "
          + "install the version that started it")
    }
    guard let range else { return }
    let packed = PackedMachine(
      type: type, bytes: try coder.packed(row.payload.bytes, at: range), coder: coder)
    machine = try packed.unpacked()
    self.packed = packed
  }
}
