import JSONRPC
import UsherConfig
import UsherCore

/// One round of the customer in the browser, with the values that bind its messages together.
///
/// A new round gets a new state and verifier, unless the caller provided them, and a new
/// fingerprint.
struct PaysafeAttempt: Codable, Sendable, Equatable {
  /// The fingerprint that Paysafe sent with the config token, to be returned in the authorization
  /// URL; nil if there was none.
  let fingerprint: Sealed<Secret>?
  /// The `state` that binds the redirect to this round: 192 random bits, or the caller's own.
  let state: Sealed<Secret>
  let proof: Proof

  /// The value of PKCE by which only the holder of the verifier can redeem the code (RFC 7636).
  enum Proof: Codable, Sendable, Equatable {
    case ours(verifier: Sealed<Secret>)
    case callers(challenge: String)
  }

  init(_ login: PaysafeLogin, fingerprint: Sealed<Secret>?, _ transition: inout TransitionContext) {
    self.fingerprint = fingerprint
    if let binding = login.binding {
      state = binding.state
      proof = .callers(challenge: binding.challenge)
    } else {
      state = Sealed(Secret(Base64URL.encode(transition.random(24))))
      proof = .ours(verifier: Sealed(PKCE.verifier(&transition)))
    }
  }

  /// The code verifier; nil if only the caller has it.
  var verifier: Sealed<Secret>? { if case .ours(let verifier) = proof { verifier } else { nil } }

  private var challenge: String {
    switch proof {
    case .ours(let verifier): PKCE.challenge(of: verifier.unsealed())
    case .callers(let challenge): challenge
    }
  }

  /// Returns the authorization URL for the browser (provider contract §2.3).
  func url(_ login: PaysafeLogin, redirectURI: String, _ settings: PaysafeSettings) -> String {
    var fields: [(name: String, value: String)] = [
      ("client_id", settings.clientID), ("response_type", "code"), ("code_challenge", challenge),
      ("code_challenge_method", "S256"), ("state", state.unsealed().revealed()),
      ("redirect_uri", redirectURI),
    ]
    fields += login.hints.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    if let fingerprint {
      fields.append(("digital_fingerprint", fingerprint.unsealed().revealed()))
    }
    return settings.paths.authorize.url(under: settings.baseURL, "brandIdentity", login.brand)
      + "?" + FormEncoding.encode(fields)
  }
}

/// The reply to a request for a config token, reduced to the fingerprint in it; nil if there is
/// none (provider contract §2.4).
typealias PaysafeFingerprint = OAuthReply<Sealed<Secret>?>

extension OAuthReply where Granted == Sealed<Secret>? {
  /// Reads the fingerprint from the reply. The config token itself is not used.
  init(_ reply: HTTPReply, from provider: ProviderName) {
    self.init(reply, from: provider) { members throws(UnusableReply) in
      guard let member = members["digital_fingerprint"], !member.isNull else { return nil }
      guard let text = member.stringValue, (1...2048).contains(text.utf8.count),
        text.utf8.allSatisfy(\.isVisible)
      else { throw UnusableReply("the provider's digital_fingerprint cannot be used") }
      return Sealed(Secret(text))
    }
  }
}
