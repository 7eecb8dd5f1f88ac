import FoundationEssentials
import UsherClient

extension JSONValue {
  /// Returns a JSON object of the members that are not nil.
  static func params(_ members: [String: JSONValue?]) -> JSONValue {
    .object(members.compactMapValues { $0 })
  }

  static func text(_ text: String?) -> JSONValue? { text.map { .string($0) } }
}

extension Timestamp {
  var date: Date { Date(timeIntervalSince1970: seconds) }
}
