import JSONRPC
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Encodes and decodes flow machines.
///
/// In memory the machine of a hibernating flow is packed: JSON with a placeholder for the
/// provider's configuration, which many flows share. On disk the configuration is written out, so
/// that every row is complete by itself.
final class FlowCoder: Sendable {
  /// A placeholder, and the JSON of the provider configuration that it replaces.
  private struct Known {
    /// The placeholder, including its quotation marks.
    let placeholder: [UInt8]
    let json: [UInt8]
  }

  private struct State {
    var known: [Int: Known] = [:]
    /// The placeholder for each JSON text of a configuration that was read. Earlier versions may
    /// have encoded an equal configuration differently.
    var placeholders: [[UInt8]: [UInt8]] = [:]
  }

  private let providers: KnownProviders
  private let quotedPrefix: [UInt8]
  private let state = Mutex(State())

  private static let member = "provider"

  /// - Parameter nonce: The random prefix of all placeholders, so that text from a provider or
  ///   caller cannot contain a placeholder.
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

  /// Returns the complete JSON of a packed machine: every placeholder is replaced.
  func expanded(_ packed: [UInt8]) throws(UsherError) -> [UInt8] {
    var expanded: [UInt8] = []
    var remaining = packed[...]
    while let start = remaining.start(of: quotedPrefix) {
      let digits = remaining[(start + quotedPrefix.count)...].prefix { $0 != UInt8(ascii: "\"") }
      guard let number = Int(String(decoding: digits, as: UTF8.self)) else {
        expanded += remaining[..<digits.startIndex]
        remaining = remaining[digits.startIndex...]
        continue
      }
      expanded += remaining[..<start]
      expanded += try known(number).json
      remaining = remaining[(digits.endIndex + 1)...]
    }
    return expanded.isEmpty ? packed : expanded + remaining
  }

  /// Returns the packed form of a machine's complete JSON.
  ///
  /// - Parameter range: The position of the machine's JSON in `bytes`.
  func packed(_ bytes: [UInt8], at range: Range<Int>) throws(UsherError) -> [UInt8] {
    let members = try ObjectMembers(ofStored: bytes, at: range)
    guard let provider = members[Self.member] else { return Array(bytes[range]) }
    return bytes[range.lowerBound..<provider.lowerBound]
      + (try placeholder(of: Array(bytes[provider])))
      + bytes[provider.upperBound..<range.upperBound]
  }

  private func placeholder(of json: [UInt8]) throws(UsherError) -> [UInt8] {
    if let placeholder = state.withLock({ $0.placeholders[json] }) { return placeholder }
    let provider = try StoreCoder.decode(ProviderConfig.self, from: json)
    let placeholder = try known(providers.number(of: provider)).placeholder
    state.withLock { $0.placeholders[json] = placeholder }
    return placeholder
  }

  private func known(_ number: Int) throws(UsherError) -> Known {
    if let known = state.withLock({ $0.known[number] }) { return known }
    let known = Known(
      placeholder: Array("\"\(providers.placeholder(of: number))\"".utf8),
      json: try StoreCoder.encode(providers.provider(number)))
    state.withLock { $0.known[number] = known }
    return known
  }
}

extension ObjectMembers {
  /// Finds the members of a stored JSON object.
  ///
  /// - Throws: `storageUnavailable` if the bytes decrypted but are not a JSON object.
  init(ofStored bytes: [UInt8], at range: Range<Int>? = nil) throws(UsherError) {
    do {
      try self.init(of: bytes, at: range)
    } catch {
      throw UsherError(
        .storageUnavailable, "a stored flow is damaged: it is not a JSON object", cause: error)
    }
  }
}

extension ArraySlice<UInt8> {
  /// Returns the position of the first occurrence of a placeholder; nil if there is none.
  fileprivate func start(of placeholder: [UInt8]) -> Int? {
    guard let first = placeholder.first, count >= placeholder.count else { return nil }
    var from = startIndex
    while let start = self[from...(endIndex - placeholder.count)].firstIndex(of: first) {
      if self[start..<start + placeholder.count].elementsEqual(placeholder) { return start }
      from = start + 1
      if from > endIndex - placeholder.count { return nil }
    }
    return nil
  }
}
