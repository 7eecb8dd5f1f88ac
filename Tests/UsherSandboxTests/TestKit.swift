import Crypto
import Foundation

@testable import UsherSandbox

let start = Date(timeIntervalSince1970: 1_800_000_000)
let alice = User(username: "alice", password: "alice-password", name: "Alice Adams")
let publicClient = Client.standard[0]
let confidentialClient = Client.standard[1]
let redirectURI = "http://127.0.0.1:5555/callback"
let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
/// The S256 challenge of ``verifier``, from RFC 7636 appendix B.
let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

extension TokenAuthorization {
  static func test(scope: [String] = ["openid", "offline_access"]) -> TokenAuthorization {
    TokenAuthorization(
      clientID: "usher", user: alice, scope: scope, nonce: "n0", authTime: start)
  }
}

extension TokenLedger {
  /// Returns a ledger that holds one authorization code.
  static func withCode(
    _ change: (inout TokenTerms) -> Void = { _ in }
  ) -> (ledger: TokenLedger, code: String) {
    var ledger = TokenLedger(OIDCBackendSettings().terms)
    change(&ledger.terms)
    let code = ledger.issueCode(
      for: .test(), redirectURI: redirectURI, challenge: challenge, now: start)
    return (ledger, code)
  }

  /// Returns a ledger in which alice is signed in, and her tokens.
  static func signedIn(
    _ change: (inout TokenTerms) -> Void = { _ in }
  ) throws -> (ledger: TokenLedger, tokens: IssuedTokens) {
    var (ledger, code) = withCode(change)
    let tokens = try ledger.redeem(code)
    return (ledger, tokens)
  }

  mutating func redeem(
    _ code: String, client: Client = publicClient, brand: String? = nil,
    redirectURI: String = redirectURI,
    verifier: String = verifier, after seconds: Double = 1
  ) throws(OAuthError) -> IssuedTokens {
    try redeemCode(
      code, client: client, brand: brand, redirectURI: redirectURI, verifier: verifier,
      now: start.addingTimeInterval(seconds))
  }

  mutating func refresh(_ token: String?, scope: [String]? = nil) throws(OAuthError) -> IssuedTokens
  {
    try refresh(token ?? "", client: publicClient, scope: scope, now: start)
  }
}

extension BackendContext {
  static func test(_ clock: SandboxClock = SandboxClock { start }) throws -> BackendContext {
    BackendContext(
      users: Users(), clock: clock, tokenGenerator: TokenGenerator(), pages: try Pages())
  }
}

/// Returns the error code with which `body` is refused, or nil if `body` succeeds.
func refusal(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return (error as? OAuthError)?.error ?? "\(error)"
  }
}
