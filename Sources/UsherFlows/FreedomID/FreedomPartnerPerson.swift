import JSONRPC
import UsherConfig
import UsherCore

/// Whose tokens they are, with the fields they open (contract §4.3, user info).
struct FreedomPerson: Equatable {
  let id: String
  let profile: GrantedProfile

  /// - Throws: A sentence that names the member which is missing or cannot be.
  init(_ members: [String: JSONValue], granted: [DataGrant]) throws(UnusableReply) {
    guard let id = members["id"]?.stringValue, (1...128).contains(id.utf8.count),
      id.utf8.allSatisfy(\.isVisible)
    else { throw UnusableReply("the provider does not tell whose token it is") }
    self.id = id
    profile = try GrantedProfile(members, granted: granted)
  }

  /// An account of which the flow's client sees what was asked for: the page where the person agreed
  /// has shown all of it.
  ///
  /// - Parameter days: How long it is remembered.
  func end(
    _ grants: [PartnerGrant], _ tokens: TokenSet, _ days: Int, _ now: Timestamp
  ) -> Completion {
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
