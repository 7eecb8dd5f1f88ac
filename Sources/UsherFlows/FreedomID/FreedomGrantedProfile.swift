import JSONRPC
import UsherCore

/// The granted fields of a user's profile: one member per grant, null if the provider has no value.
/// Other members of the provider's reply are dropped.
struct FreedomGrantedProfile: Equatable {
  let members: [String: JSONValue]

  /// Reads the granted fields from a reply.
  ///
  /// - Throws: A sentence that names the invalid member.
  init(_ wire: [String: JSONValue], granted: [DataGrant]) throws(UnusableReply) {
    var members: [String: JSONValue] = [:]
    for grant in granted {
      members[grant.member] = try Self.value(wire[grant.field] ?? .null, of: grant)
    }
    self.members = members
  }

  /// The maximum length of a value in bytes, and of a list in elements; a longer one is invalid.
  private static let maxLength = 1024
  private static let maxMembers = 64

  private static func value(
    _ value: JSONValue, of grant: DataGrant
  ) throws(UnusableReply) -> JSONValue {
    if value.isNull { return .null }
    guard grant.isList else { return try .string(text(value, grant)) }
    guard let values = value.arrayValue, values.count <= maxMembers else {
      throw UnusableReply("the provider's \(grant.field) is not a list of strings")
    }
    var texts: [JSONValue] = []
    for value in values { texts.append(.string(try text(value, grant))) }
    return .array(texts)
  }

  private static func text(_ value: JSONValue, _ grant: DataGrant) throws(UnusableReply) -> String {
    guard let text = value.stringValue, text.utf8.count <= maxLength else {
      throw UnusableReply("the provider's \(grant.field) is not a string of at most 1024 bytes")
    }
    return ProviderText.clean(text, limit: maxLength)
  }
}
