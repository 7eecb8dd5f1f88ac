import Crypto
import FoundationEssentials

/// A token as the control API lists it, without the token itself.
struct ListedToken: Sendable, Hashable {
  enum Kind: String { case access, refresh, config }
  enum State: String { case live, expired, superseded, revoked }

  /// The start of a SHA-256 digest, which identifies the token without revealing it.
  let id: String
  let kind: Kind
  let clientID: String
  let brand: String?
  let user: User?
  let issued: Date
  let expires: Date
  let state: State

  init(
    _ key: String, _ kind: Kind, clientID: String, brand: String?, user: User?, issued: Date,
    expires: Date, state: State
  ) {
    id = String(Hex.text(SHA256.hash(data: Data(key.utf8))).prefix(16))
    self.kind = kind
    self.clientID = clientID
    self.brand = brand
    self.user = user
    self.issued = issued
    self.expires = expires
    self.state = state
  }

  var json: JSON {
    var members: [String: JSON] = [
      "id": .string(id), "kind": .string(kind.rawValue), "clientID": .string(clientID),
      "issuedAt": issued.timestamp, "expiresAt": expires.timestamp,
      "state": .string(state.rawValue),
    ]
    members["brandIdentity"] = brand.map { .string($0) }
    members["username"] = user.map { .string($0.username) }
    return .object(members)
  }
}

extension ConfigTokens {
  func listing(_ now: Date) -> [ListedToken] {
    table.listing.map { entry in
      ListedToken(
        entry.key, .config, clientID: entry.value.clientID, brand: entry.value.brand, user: nil,
        issued: entry.issued, expires: entry.expires,
        state: entry.expires > now ? .live : .expired)
    }
  }
}

extension TokenLedger {
  /// Returns the access tokens, then the refresh tokens, each oldest first.
  func listing(_ now: Date) -> [ListedToken] {
    accessTokens.listing.compactMap { entry in
      listed(
        entry.key, .access, entry.value.grant, entry.issued, entry.expires, superseded: false, now)
    }
      + refreshTokens.listing.compactMap { entry in
        listed(
          entry.key, .refresh, entry.value.grant, entry.issued, entry.expires,
          superseded: entry.value.superseded, now)
      }
  }

  private func listed(
    _ key: String, _ kind: ListedToken.Kind, _ grant: String, _ issued: Date, _ expires: Date,
    superseded: Bool, _ now: Date
  ) -> ListedToken? {
    guard let grant = grants.value(grant, now: now) else { return nil }
    let state: ListedToken.State =
      if grant.revoked {
        .revoked
      } else if superseded {
        .superseded
      } else {
        expires > now ? .live : .expired
      }
    return ListedToken(
      key, kind, clientID: grant.authorization.clientID, brand: grant.authorization.brand,
      user: grant.authorization.user, issued: issued, expires: expires, state: state)
  }
}
