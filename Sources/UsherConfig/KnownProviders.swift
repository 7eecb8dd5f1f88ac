import Synchronization

/// Configurations that many values have in them alike: under a coder that has this in its `userInfo`
/// each is coded as a short mark.
///
/// What is coded so means something beside this object only.
package final class KnownProviders: Sendable {
  /// What every mark begins with.
  package let prefix: String
  private let state = Mutex<[ProviderConfig]>([])

  /// - Parameter prefix: What nobody else can guess or write, or a text of his would be taken for a
  ///   configuration. ASCII without quotes, backslashes and control characters.
  package init(prefix: String) { self.prefix = prefix }

  /// The number of a configuration; equal ones have the same.
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

  package func mark(of number: Int) -> String { "\(prefix)\(number)" }

  func provider(marked mark: String) -> ProviderConfig? {
    guard mark.hasPrefix(prefix) else { return nil }
    return Int(mark.dropFirst(prefix.count)).flatMap { provider($0) }
  }
}

extension CodingUserInfoKey {
  /// Of ``KnownProviders``.
  package static let knownProviders = CodingUserInfoKey(rawValue: "usher.knownProviders")!
}

extension ProviderConfig {
  package func encode(to encoder: any Encoder) throws {
    guard let known = encoder.userInfo[.knownProviders] as? KnownProviders else {
      return try TomlValue.table(tomlTable).encode(to: encoder)
    }
    var container = encoder.singleValueContainer()
    try container.encode(known.mark(of: known.number(of: self)))
  }

  package init(from decoder: any Decoder) throws {
    guard let known = decoder.userInfo[.knownProviders] as? KnownProviders else {
      self = try Self.decoded(from: decoder)
      return
    }
    let container = try decoder.singleValueContainer()
    guard let provider = known.provider(marked: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "no mark of a known provider")
    }
    self = provider
  }
}
