import UsherCore

/// An invalid member of the report that an app submits about a code that it redeemed. The message
/// contains nothing of the member's value.
struct InvalidExchangeReport: Error {
  /// The name of the member.
  let name: String
  /// The fault of the member: the end of a sentence that begins with its name.
  let fault: String

  init(_ name: String, _ fault: String) {
    self.name = name
    self.fault = fault
  }

  var field: String { "input.success.\(name)" }
  var message: String { "\(field) \(fault)" }
}

extension [String: Secret] {
  func allow(_ known: Set<String>) throws(InvalidExchangeReport) {
    guard let unexpected = keys.filter({ !known.contains($0) }).min() else { return }
    throw InvalidExchangeReport(unexpected, "is not a member of this input")
  }

  /// Returns the token in a member of the report; nil if the member is absent.
  ///
  /// - Throws: If the token is empty, longer than `limit` or has characters that a token must not
  ///   have (RFC 6749 appendix A.12, A.17). Tokens are sent in a header or form later.
  func token(_ name: String, upTo limit: Int) throws(InvalidExchangeReport) -> Secret? {
    guard let value = self[name] else { return nil }
    guard value.revealed().isVisible(upTo: limit) else {
      throw InvalidExchangeReport(
        name, "must be 1 to \(limit) printable ASCII characters without spaces")
    }
    return value
  }
}
