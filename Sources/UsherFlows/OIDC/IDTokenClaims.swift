import Crypto
import JSONRPC
package import UsherConfig
package import UsherCore

/// The claims of an ID token that passed all checks of OIDC Core §3.1.3.7.
package struct IDTokenClaims: Sendable, Equatable {
  package var person: PersonClaims
  package var issuedAt: Timestamp
  package var expiresAt: Timestamp
  package var signIn = SignInClaims()

  /// The values that the claims are checked against.
  package struct Expectation: Sendable, Equatable {
    package var issuer: String
    package var clientID: String
    /// The nonce that the daemon sent; nil if it sent none.
    package var nonce: Secret?
    package var now: Timestamp
    /// The tolerated difference between the clocks of the provider and the daemon.
    package var skew: Duration
    /// The access token that `at_hash` must match, with the hash function of `algorithm`; nil if
    /// none is checked.
    package var accessToken: Secret?
    /// The authorization code that `c_hash` must match; nil if none is checked.
    package var code: Secret?
    /// The `state` of the authorization request that `s_hash` must match; nil if none is checked.
    package var state: Secret?
    package var algorithm: SigningAlgorithm
    /// The `max_age` that the daemon requested, in seconds.
    package var maxAge: Int?
    /// The `acr_values` that the daemon requested; nil if it requested none.
    package var acrValues: [String]?
  }

  /// A rule that an ID token can break; the raw value continues a sentence.
  package enum Rule: String, Error, Sendable, CaseIterable {
    case unreadable = "its payload is not a JSON object"
    case issuer = "iss is not the provider's issuer"
    case audience = "aud does not name this client"
    case otherAudience = "aud names others than this client"
    case authorizedParty = "azp is not this client"
    case subject = "sub is missing, empty or too long"
    case expiry = "exp is missing or has passed"
    case issuedInFuture = "iat is missing or lies in the future"
    case issuedLongAgo = "iat is more than a day ago"
    case notYetValid = "nbf lies in the future"
    case nonce = "nonce is not the one that was sent"
    case accessTokenHash = "at_hash is not that of the access token"
    case codeHash = "c_hash is not that of the authorization code"
    case stateHash = "s_hash is not that of the state that was sent"
    case otherSubject = "sub is not the person who signed in"
    case authTime = "auth_time is missing, in the future, or longer ago than was asked for"
    case authenticationClass = "acr is missing or none that was asked for"
    case otherAuthorizedParty = "azp is not that of the sign-in"
    case otherNonce = "nonce is not that of the sign-in"

    /// The broken rule as a user-facing sentence.
    package var message: String { "the ID token is refused: \(rawValue)" }
  }
}

extension IDTokenClaims {
  /// Checks the claims in the payload of a token whose signature has been verified.
  package static func check(
    payload: [UInt8], _ expected: Expectation
  ) -> Result<IDTokenClaims, Rule> {
    do throws(Rule) {
      guard let claims = HTTPReply(status: 200, body: payload).jsonObject else { throw .unreadable }
      guard claims.has("iss", expected.issuer) else { throw .issuer }
      try checkAudience(claims, expected)
      guard let person = PersonClaims(claims) else { throw .subject }
      var result = try checkTimes(claims, person, expected)
      try checkBindings(claims, expected)
      result.signIn = SignInClaims(claims)
      try checkAuthentication(result.signIn, expected)
      return .success(result)
    } catch {
      return .failure(error)
    }
  }

  /// Returns the rule that the ID token of a refresh breaks; nil if it breaks none (OIDC Core
  /// §12.2).
  ///
  /// The token must have the same issuer, client and subject as the ID token of the sign-in, the
  /// same `azp`, and no other `nonce`. Its signature is not checked: it came directly from the
  /// token endpoint (§3.1.3.7 item 6), and the daemon verifies it before it hands the token out. A
  /// token that cannot be parsed is not an error.
  ///
  /// - Parameter signIn: The claims of the sign-in's ID token; nil if they are not known.
  package static func flaw(
    refreshed token: Secret, issuer: String, clientID: String, subject: String,
    signIn: SignInClaims? = nil
  ) -> Rule? {
    guard let claims = JSONWebToken.claims(of: token) else { return nil }
    guard claims.has("iss", issuer) else { return .issuer }
    let audience = claims["aud"]?.arrayValue ?? [claims["aud"] ?? .null]
    guard audience.contains(where: { $0.isText(clientID) }) else { return .audience }
    guard claims.has("sub", subject) else { return .otherSubject }
    guard let signIn else { return nil }
    let now = SignInClaims(claims)
    let azp = [now, signIn].map { $0.authorizedParty.map { Array($0.utf8) } }
    guard azp[0] == azp[1] else { return .otherAuthorizedParty }
    guard now.nonce == nil || now.nonce == signIn.nonce else { return .otherNonce }
    return nil
  }

  /// Checks the audience (OIDC Core §3.1.3.7 items 3 to 5). A token that is also for other clients
  /// is refused.
  private static func checkAudience(
    _ claims: [String: JSONValue], _ expected: Expectation
  ) throws(Rule) {
    let audience: [JSONValue] =
      switch claims["aud"] {
      case .array(let values)?: values
      case .string(let one)?: [.string(one)]
      default: []
      }
    let isThisClient: (JSONValue) -> Bool = { $0.isText(expected.clientID) }
    guard audience.contains(where: isThisClient) else { throw .audience }
    if audience.count > 1 || claims["azp"] != nil {
      guard claims.has("azp", expected.clientID) else { throw .authorizedParty }
    }
    guard audience.allSatisfy(isThisClient) else { throw .otherAudience }
  }

  /// Checks the times `exp` and `iat` (OIDC Core §3.1.3.7 items 9 and 10), and `nbf`.
  private static func checkTimes(
    _ claims: [String: JSONValue], _ person: PersonClaims, _ expected: Expectation
  ) throws(Rule) -> IDTokenClaims {
    let latest = expected.now + expected.skew
    let earliest = expected.now - expected.skew
    guard let expiry = claims["exp"]?.numericDate, expiry > earliest else { throw .expiry }
    guard let issued = claims["iat"]?.numericDate, issued <= latest else { throw .issuedInFuture }
    guard issued >= earliest - .seconds(86_400) else { throw .issuedLongAgo }
    if let start = claims["nbf"] {
      guard let start = start.numericDate, start <= latest else { throw .notYetValid }
    }
    return IDTokenClaims(person: person, issuedAt: issued, expiresAt: expiry)
  }

  /// Checks the nonce (OIDC Core §3.1.3.7 item 11) and the hashes of the access token (§3.1.3.8),
  /// of the code (§3.3.2.10) and of the state (FAPI 1.0 part 2 §5.1). A hash may be missing.
  private static func checkBindings(
    _ claims: [String: JSONValue], _ expected: Expectation
  ) throws(Rule) {
    if let nonce = expected.nonce {
      guard let stated = claims["nonce"]?.stringValue, Secret(stated) == nonce else { throw .nonce }
    }
    let hashes: [(claim: String, value: Secret?, rule: Rule)] = [
      ("at_hash", expected.accessToken, .accessTokenHash), ("c_hash", expected.code, .codeHash),
      ("s_hash", expected.state, .stateHash),
    ]
    for (claim, value, rule) in hashes {
      guard let hash = claims[claim], let value else { continue }
      guard let stated = hash.stringValue, Secret(stated) == expected.algorithm.leftHash(of: value)
      else { throw rule }
    }
  }

  /// Checks the class of the authentication against `acr_values`, and its time against `max_age`
  /// (OIDC Core §3.1.3.7 items 12 and 13).
  private static func checkAuthentication(
    _ signIn: SignInClaims, _ expected: Expectation
  ) throws(Rule) {
    if let wanted = expected.acrValues {
      let isWanted = signIn.authenticationClass.map { name in
        wanted.contains { $0.hasSameBytes(as: name) }
      }
      guard isWanted == true else { throw .authenticationClass }
    }
    if let maxAge = expected.maxAge {
      guard let time = signIn.authenticatedAt, time <= expected.now + expected.skew,
        expected.now - time <= .seconds(maxAge) + expected.skew
      else { throw .authTime }
    }
  }
}

extension SignInClaims {
  /// Reads the claims. Texts for people are cleaned and cut, because a provider may send anything.
  fileprivate init(_ claims: [String: JSONValue]) {
    authenticationClass = ProviderText.shown(claims["acr"]?.stringValue)
    authenticationMethods = claims["amr"]?.arrayValue.map { values in
      values.prefix(20).compactMap { ProviderText.shown($0.stringValue) }
    }
    authenticatedAt = claims["auth_time"]?.numericDate
    authorizedParty = claims["azp"].map { $0.stringValue ?? "" }
    nonce = claims["nonce"]?.stringValue.map { Sealed(Secret($0)) }
  }
}

extension IDToken {
  /// Creates the token with the expiry that it names. Nothing is verified.
  ///
  /// - Returns: Nil if the text is not a JWT with `exp`.
  package init?(unverified token: Secret) {
    guard let claims = JSONWebToken.claims(of: token), let end = claims["exp"]?.numericDate
    else { return nil }
    self.init(token: Sealed(token), expiresAt: end)
  }
}

extension SigningAlgorithm {
  /// Returns the expected `at_hash`, `c_hash` or `s_hash`: the left half of the value's hash, with
  /// the hash function of the signature algorithm (OIDC Core §3.1.3.6).
  package func leftHash(of value: Secret) -> Secret {
    let bytes = Array(value.revealed().utf8)
    let hash =
      switch self {
      case .rs256, .ps256, .es256, .hs256: Array(SHA256.hash(data: bytes))
      case .rs384, .ps384, .es384, .hs384: Array(SHA384.hash(data: bytes))
      // `edDSA` means Ed25519, which uses SHA-512 itself.
      case .rs512, .ps512, .es512, .hs512, .edDSA: Array(SHA512.hash(data: bytes))
      }
    return Secret(Base64URL.encode(hash.prefix(hash.count / 2)))
  }
}

extension SigningAlgorithm {
  /// Whether the message authentication code of a token was computed with the client secret (RFC
  /// 7518 §3.2); false for an algorithm that uses another key.
  package func isValid(_ token: Secret, by clientSecret: Secret) -> Bool {
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let code = Base64URL.decode(parts[2]) else { return false }
    let bytes = Array(parts[0...1].joined(separator: ".").utf8)
    let key = SymmetricKey(data: Array(clientSecret.revealed().utf8))
    return switch self {
    case .hs256: HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: bytes, using: key)
    case .hs384: HMAC<SHA384>.isValidAuthenticationCode(code, authenticating: bytes, using: key)
    case .hs512: HMAC<SHA512>.isValidAuthenticationCode(code, authenticating: bytes, using: key)
    case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA: false
    }
  }
}

extension [String: JSONValue] {
  /// Whether the claim is a string that equals the text byte by byte.
  func has(_ claim: String, _ text: String) -> Bool {
    self[claim]?.isText(text) ?? false
  }
}

extension JSONValue {
  func isText(_ text: String) -> Bool { stringValue?.hasSameBytes(as: text) ?? false }

  /// The time of a claim in seconds since 1970 (RFC 7519 §2), with or without a fraction; nil if
  /// the value is not a number.
  var numericDate: Timestamp? { numberValue.map { Timestamp(seconds: $0) } }
}
