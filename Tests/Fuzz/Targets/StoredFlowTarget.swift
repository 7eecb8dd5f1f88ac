import JSONRPC
import UsherCore
import UsherFlows
import UsherStore

@testable import UsherDaemon

extension FuzzTarget {
  /// A stored flow that is accepted encodes to bytes that decode to the same flow, also in the
  /// packed form of a hibernating flow; an error shows no secret of the stored flow.
  ///
  /// The first line of an input is the provider's variety and the flow's kind, the rest the stored
  /// form.
  static let storedFlow = FuzzTarget(
    "stored-flow", words: ["UsherFlows", "UsherConfig"]
  ) { input in
    let name = input.prefix { $0 != UInt8(ascii: "\n") }
    guard let machine = FlowStates.machine(Array(name).text) else { return }
    try checkStoredForm(machine, Array(input.dropFirst(name.count + 1)))
  }
}

private func checkStoredForm<Machine: FlowMachine>(_ type: Machine.Type, _ bytes: [UInt8]) throws {
  let machine: Machine
  do throws(UsherError) {
    machine = try StoreCoder.decode(Machine.self, from: bytes)
  } catch {
    let value = (try? JSONValue(parsing: bytes)) ?? .null
    let names = value.memberNames.joined()
    let secrets = value.texts.filter { $0.hasSuffix("-secret") && !names.contains($0) }
    let text = "\(error.message) \(error.cause.map { "\($0)" } ?? "")"
    return try requireShowable(text.replacing("\0", with: ""), without: secrets, "the error")
  }
  _ = (machine.view, machine.callsIfAbandoned, machine.unknownOutcome, machine.grantIfAbandoned)
  let stored = try StoreCoder.encode(machine)
  let again = try StoreCoder.decode(Machine.self, from: stored)
  try require(try StoreCoder.encode(again) == stored, "another flow after decoding")
  let coder = FlowCoder(nonce: "known_4711_")
  let packed = try coder.packed(stored, at: stored.indices)
  try require(try coder.expanded(packed) == stored, "another flow after packing: \(stored.text)")
  let unpacked = try coder.unpack(Machine.self, packed)
  try require(try StoreCoder.encode(unpacked) == stored, "another flow after unpacking")
}

extension JSONValue {
  /// The names of the members of all objects in the value.
  fileprivate var memberNames: [String] {
    switch self {
    case .null, .bool, .integer, .number, .string: []
    case .array(let elements): elements.flatMap(\.memberNames)
    case .object(let members): members.flatMap { [$0.key] + $0.value.memberNames }
    }
  }
}
