import Synchronization

/// A table of provider configurations that many stored flows share. If a coder has the table in its
/// `userInfo`, it encodes each configuration as a short mark.
///
/// Data that is encoded in this way can be decoded only with the same table.
package final class KnownProviders: Sendable {
  /// The text that begins every mark, which stands for a provider configuration in encoded data.
  package let prefix: String
  private let state = Mutex<[ProviderConfig]>([])

  /// Creates an empty table.
  ///
  /// - Parameter prefix: A text that callers can neither guess nor choose. Otherwise the text of a
  ///   caller could be decoded as a configuration. It must be ASCII without quotes, backslashes and
  ///   control characters.
  package init(prefix: String) { self.prefix = prefix }

  /// Returns the number of a configuration in the table; equal configurations have the same number.
  package func number(of provider: ProviderConfig) -> Int {
    state.withLock { known in
      if let number = known.firstIndex(of: provider) { return number }
      known.append(provider)
      return known.count - 1
    }
  }

  package func provider(_ number: Int) -> ProviderConfig? {
    state.withLock { $0.indices.contains(number) ? $0[number] : nil }
  }

  package func placeholder(of number: Int) -> String { "\(prefix)\(number)" }

  func provider(for placeholder: String) -> ProviderConfig? {
    guard placeholder.hasPrefix(prefix) else { return nil }
    return Int(placeholder.dropFirst(prefix.count)).flatMap { provider($0) }
  }
}

extension CodingUserInfoKey {
  /// The key of ``KnownProviders`` in the `userInfo` of a coder.
  package static let knownProviders = CodingUserInfoKey(rawValue: "usher.knownProviders")!
}

extension ProviderConfig {
  package func encode(to encoder: any Encoder) throws {
    guard let known = encoder.userInfo[.knownProviders] as? KnownProviders else {
      return try TomlValue.table(tomlTable).encode(to: encoder)
    }
    var container = encoder.singleValueContainer()
    try container.encode(known.placeholder(of: known.number(of: self)))
  }

  package init(from decoder: any Decoder) throws {
    guard let known = decoder.userInfo[.knownProviders] as? KnownProviders else {
      self = try Self.decoded(from: decoder)
      return
    }
    let container = try decoder.singleValueContainer()
    guard let provider = known.provider(for: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "no mark of a known provider")
    }
    self = provider
  }
}
