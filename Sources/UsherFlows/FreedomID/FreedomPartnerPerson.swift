import JSONRPC
import UsherConfig
import UsherCore

/// The user that tokens belong to, with the profile fields that the tokens cover (provider contract
/// §4.3, user info).
struct FreedomPerson: Equatable {
  let id: String
  /// The requested fields that the reply contains. The user may have left some out on Freedom ID's
  /// page.
  let granted: [DataGrant]
  let profile: FreedomGrantedProfile

  /// Reads the user from a reply.
  ///
  /// - Throws: A sentence that names the missing or invalid member.
  init(_ members: [String: JSONValue], requested: [DataGrant]) throws(UnusableReply) {
    guard let id = members["id"]?.visibleText(upTo: 128) else {
      throw UnusableReply("the provider does not identify the person of the token")
    }
    self.id = id
    granted = requested.filter { members.keys.contains($0.field) }
    profile = try FreedomGrantedProfile(members, granted: granted)
  }

  /// Returns the result of the flow, with an account whose granted data only the flow's client
  /// sees. The reply does not report grants that cover no field, so these count as granted if they
  /// were requested.
  ///
  /// - Parameter days: The lifetime of the consents in days.
  /// - Returns: Nil if nothing was granted.
  func end(
    _ requested: [PartnerGrant], _ tokens: TokenSet, _ days: Int, _ now: Timestamp
  ) -> Completion? {
    let grants = requested.filter { $0.data.map(granted.contains) ?? true }
    guard !grants.isEmpty else { return nil }
    var tokens = tokens
    tokens.scope = grants.map(\.text).joined(separator: " ")
    var attributes = (tokens.attributes ?? [:]).mapValues { JSONValue.string($0) }
    attributes["mode"] = .string(FreedomIDMode.oauth2.rawValue)
    var grant = AccountGrant(
      subject: id, label: "Freedom ID \(id.prefix(8))", attributes: attributes,
      profile: profile.members, tokens: tokens)
    grant.isByConsent = true
    let end = now + .seconds(days * 86_400)
    grant.consents = grants.map {
      ConsentGrant(grant: $0.text, member: $0.data?.member, expiresAt: end)
    }
    return Completion(
      grant: grant,
      result: [
        "granted": .array(grants.map { .string($0.text) }), "profile": .object(profile.members),
      ])
  }
}
