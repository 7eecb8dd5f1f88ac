/// An exact amount of money in hundredths of the currency unit.
struct Amount: Sendable, Hashable, Comparable {
  var cents: Int

  init(cents: Int) {
    self.cents = cents
  }

  /// Parses a decimal string or number: not negative, below 1,000,000,000, with at most two
  /// decimals. Returns nil for anything else.
  init?(_ json: JSON) {
    switch json {
    case .string(let text): self.init(text)
    case .integer(let number) where (0...Self.limit).contains(number):
      self.init(cents: number * 100)
    case .number(let number) where (0...Double(Self.limit)).contains(number):
      let rounded = (number * 100).rounded()
      guard abs(number * 100 - rounded) < 1e-6 else { return nil }
      self.init(cents: Int(rounded))
    case .null, .bool, .integer, .number, .array, .object: return nil
    }
  }

  private static let limit = 999_999_999

  private init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let isPlain = parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { $0.isASCII && $0.isNumber }
    }
    guard isPlain, parts.count <= 2, parts[0].count <= 9, let whole = Int(parts[0]) else {
      return nil
    }
    guard parts.count == 2 else {
      self.init(cents: whole * 100)
      return
    }
    guard parts[1].count <= 2, let fraction = Int(parts[1]) else { return nil }
    self.init(cents: whole * 100 + (parts[1].count == 1 ? fraction * 10 : fraction))
  }

  static func < (left: Amount, right: Amount) -> Bool { left.cents < right.cents }

  /// The amount as text like `120.00`.
  var text: String {
    let rest = cents % 100
    return "\(cents / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}
