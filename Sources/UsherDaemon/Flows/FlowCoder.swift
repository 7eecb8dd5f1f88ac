import JSONRPC
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Encodes and decodes flow machines.
///
/// In memory the machine of a resting flow is packed: JSON with a short mark in place of the
/// provider's configuration, which many flows share. On disk the configuration is written out, so
/// that every row is complete by itself.
final class FlowCoder: Sendable {
  /// A mark, and the JSON of the provider configuration that it replaces.
  private struct Known {
    /// The mark, including its quotation marks.
    let mark: [UInt8]
    let json: [UInt8]
  }

  private struct State {
    var known: [Int: Known] = [:]
    /// The mark for each JSON text of a configuration that was read. Earlier versions may have
    /// encoded an equal configuration differently.
    var marks: [[UInt8]: [UInt8]] = [:]
  }

  private let providers: KnownProviders
  private let quotedPrefix: [UInt8]
  private let state = Mutex(State())

  private static let member = "provider"

  /// - Parameter nonce: The random prefix of all marks, so that text from a provider or caller
  ///   cannot contain a mark.
  init(nonce: String) {
    providers = KnownProviders(prefix: nonce)
    quotedPrefix = Array("\"\(nonce)".utf8)
  }

  func pack(_ machine: some Encodable) throws(UsherError) -> [UInt8] {
    try StoreCoder.encode(machine, userInfo: [.knownProviders: providers])
  }

  func unpack<Machine: Decodable>(
    _ type: Machine.Type, _ packed: [UInt8]
  ) throws(UsherError) -> Machine {
    try StoreCoder.decode(Machine.self, from: packed, userInfo: [.knownProviders: providers])
  }

  /// Returns the complete JSON of a packed machine: every mark is replaced.
  func whole(_ packed: [UInt8]) throws(UsherError) -> [UInt8] {
    var whole: [UInt8] = []
    var rest = packed[...]
    while let start = rest.start(of: quotedPrefix) {
      let digits = rest[(start + quotedPrefix.count)...].prefix { $0 != UInt8(ascii: "\"") }
      guard let number = Int(String(decoding: digits, as: UTF8.self)) else {
        whole += rest[..<digits.startIndex]
        rest = rest[digits.startIndex...]
        continue
      }
      whole += rest[..<start]
      whole += try known(number).json
      rest = rest[(digits.endIndex + 1)...]
    }
    return whole.isEmpty ? packed : whole + rest
  }

  /// Returns the packed form of a machine's complete JSON.
  ///
  /// - Parameter place: The position of the machine's JSON in `bytes`.
  func packed(_ bytes: [UInt8], at place: Range<Int>) throws(UsherError) -> [UInt8] {
    let members = try ObjectMembers(ofStored: bytes, at: place)
    guard let provider = members[Self.member] else { return Array(bytes[place]) }
    return bytes[place.lowerBound..<provider.lowerBound] + (try mark(of: Array(bytes[provider])))
      + bytes[provider.upperBound..<place.upperBound]
  }

  private func mark(of json: [UInt8]) throws(UsherError) -> [UInt8] {
    if let mark = state.withLock({ $0.marks[json] }) { return mark }
    let provider = try StoreCoder.decode(ProviderConfig.self, from: json)
    let mark = try known(providers.number(of: provider)).mark
    state.withLock { $0.marks[json] = mark }
    return mark
  }

  private func known(_ number: Int) throws(UsherError) -> Known {
    if let known = state.withLock({ $0.known[number] }) { return known }
    let known = Known(
      mark: Array("\"\(providers.mark(of: number))\"".utf8),
      json: try StoreCoder.encode(providers.provider(number)))
    state.withLock { $0.known[number] = known }
    return known
  }
}

extension ObjectMembers {
  /// Finds the members of a stored JSON object.
  ///
  /// - Throws: `storageUnavailable` if the bytes decrypted but are not a JSON object.
  init(ofStored bytes: [UInt8], at place: Range<Int>? = nil) throws(UsherError) {
    do {
      try self.init(of: bytes, at: place)
    } catch {
      throw UsherError(.storageUnavailable, "a stored flow cannot be decoded", cause: error)
    }
  }
}

extension ArraySlice<UInt8> {
  /// Returns the position of the first occurrence of a mark; nil if there is none.
  fileprivate func start(of mark: [UInt8]) -> Int? {
    guard let first = mark.first, count >= mark.count else { return nil }
    var from = startIndex
    while let start = self[from...(endIndex - mark.count)].firstIndex(of: first) {
      if self[start..<start + mark.count].elementsEqual(mark) { return start }
      from = start + 1
      if from > endIndex - mark.count { return nil }
    }
    return nil
  }
}

/// The packed machine of a resting flow, that is, a flow that waits in memory.
struct PackedMachine: Sendable {
  let type: any FlowMachine.Type
  let bytes: [UInt8]
  let coder: FlowCoder

  func unpacked() throws(UsherError) -> any FlowMachine {
    try type.init(packed: bytes, by: coder)
  }
}
