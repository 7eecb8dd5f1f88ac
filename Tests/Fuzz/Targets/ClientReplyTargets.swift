import FoundationEssentials
import JSONRPC
import UsherConfig
import UsherCore

@testable import UsherFlows

// The answers to the calls that a client makes besides those for the tokens of a person. Each input
// is a reply (``ReplyLine``).
extension FuzzTarget {
  /// The reply to a token exchange grants a token only if it says that the token is an access token
  /// (RFC 8693 §2.2.1); what it says about another one has no token of the reply.
  static let exchangeReply = FuzzTarget("exchange-reply", words: ["UsherFlows/OAuth"]) { input in
    guard let reply = ReplyLine(input[...])?.reply else { return }
    var request = TokenRequest(provider: provider.name, scope: "openid")
    request.issuedTokenType = TokenRequest.accessTokenType
    let read = TokenReply(reply, to: request, at: now)
    try checkTokens(read, reply, now)
    guard case .granted = read else { return }
    let fields = reply.formFields ?? []
    let type =
      reply.jsonObject?["issued_token_type"]?.stringValue
      ?? fields.first { $0.name == "issued_token_type" }?.value
    try require(
      type == TokenRequest.accessTokenType, "a token of type \(type ?? "none") is granted")
  }

  /// The answer to a backchannel authentication request is used only with its id, and sets sensible
  /// times (CIBA Core §7.3).
  static let backchannelReply = FuzzTarget(
    "backchannel-reply", words: ["UsherFlows/OIDC", "UsherFlows/OAuth"]
  ) { input in
    guard let reply = ReplyLine(input[...])?.reply else { return }
    let read = BackchannelReply(reply, from: provider.name, at: now)
    try checkRefusal(read, reply)
    guard case .granted(let authorization) = read else { return }
    try require(!authorization.requestID.unsealed().revealed().isEmpty, "an empty id is used")
    try require(
      (1...300).contains(authorization.interval), "an interval of \(authorization.interval) s")
    try require(
      (now...now + .seconds(315_360_000)).contains(authorization.expiresAt),
      "the request expires at \(authorization.expiresAt)")
  }

  /// The answer to a pushed request is a reference that can be in a URL (RFC 9126 §2.2).
  static let pushedReply = FuzzTarget(
    "pushed-reply", words: ["UsherFlows/OIDC", "UsherFlows/OAuth"]
  ) { input in
    guard let reply = ReplyLine(input[...])?.reply else { return }
    let read = PushedRequestReply(.reply(reply), from: provider.name)
    try checkRefusal(read, reply)
    guard case .granted(let uri) = read else { return }
    try require(
      (1...2048).contains(uri.utf8.count) && uri.utf8.allSatisfy { (0x21...0x7E).contains($0) },
      "the reference is \(uri.debugDescription)")
  }

  /// The answer to a registration is used only if the daemon can be the client: the registration is
  /// the same after storing, the registration token goes to the provider's own server only, and an
  /// error has no secret of the answer.
  static let registrationReply = FuzzTarget("registration-reply", words: ["UsherFlows/OAuth"]) {
    input in
    guard let reply = ReplyLine(input[...])?.reply else { return }
    let first = RegistrationReply(
      .reply(reply), to: clientMetadata, at: registrationEndpoint, of: provider)
    try checkRegistration(first, reply)
    let changed = RegistrationReply(
      .reply(reply), to: clientMetadata, at: registrationEndpoint, of: provider,
      replacing: registered)
    try checkRegistration(changed, reply)
    guard case .granted(let registration) = changed else { return }
    try require(registration.clientID == registered.clientID, "the client has become another one")
  }

  /// A nonce of a server is repeated in proofs as it is, and to that server only; a proof with it
  /// is a token that says what it is for (RFC 9449 §4.2, §8).
  static let dpopNonce = FuzzTarget("dpop-nonce", words: ["UsherFlows/OAuth"]) { input in
    guard let reply = ReplyLine(input[...])?.reply else { return }
    var nonces = DPoPNonces()
    nonces.record(reply, from: "https://ID.example.com/token?x=1")
    _ = reply.demandsDPoPNonce
    try require(nonces.nonce(for: "https://id.example.com.evil/") == nil, "another server's nonce")
    try require(nonces.nonce(for: "http://id.example.com/") == nil, "another scheme's nonce")
    guard let nonce = nonces.nonce(for: "https://id.example.com/other") else { return }
    try require(
      nonce == reply.headers["dpop-nonce"] && DPoPKey.isNonce(nonce), "the nonce is another one")
    let transition = TransitionContext(now: now, entropy: CountedEntropy())
    let request = DPoPKey.Request(
      method: "POST", url: "https://id.example.com/token?code=c", nonce: nonce)
    let proof = try proofKey.proof(for: request, at: transition)
    let parts = proof.revealed().split(separator: ".").map { Base64URL.decode($0) ?? [] }
    try require(parts.count == 3, "the proof has \(parts.count) parts")
    let claims = try JSONValue(parsing: parts[1])
    try require(
      claims["nonce"] == .string(nonce) && claims["htu"] == "https://id.example.com/token",
      "the proof has other claims")
  }
}

private let now = Timestamp(seconds: 1_800_000_000)
private let issuer = "https://id.example.com"
private let registrationEndpoint = "https://register.example.com/clients"

/// A provider without a client, whose secrets are texts that end in `-secret`.
private let provider: Provider<OIDCSettings> = {
  let text = """
    [[provider]]
    name = "work"
    type = "oidc"
    issuer = "\(issuer)"
    """
  guard let config = try? Config.load(files: [(path: "fuzz.toml", text: text)]),
    let provider = config.providers.first.flatMap({ Provider<OIDCSettings>($0) })
  else { fatalError("the provider of the targets cannot be configured") }
  return provider
}()

private let clientMetadata: ClientMetadata = {
  guard let metadata = try? ClientMetadata(provider, OIDCMetadata(issuer: issuer), key: nil) else {
    fatalError("the client's metadata cannot be made")
  }
  return metadata
}()

private let registered = ClientRegistration(
  issuer: issuer, clientID: "client-1", auth: .basic, secret: Secret("client-secret"),
  secretExpiresAt: nil, redirectURIs: clientMetadata.redirectURIs,
  management: .init(uri: issuer + "/register/client-1", token: Secret("token-secret")))

private let proofKey: DPoPKey = {
  let stored = DPoPKey.make { [UInt8](repeating: 7, count: $0) }
  guard let key = try? DPoPKey(stored: stored.unsealed()) else { fatalError("there is no key") }
  return key
}()

private func checkRegistration(_ read: RegistrationReply, _ reply: HTTPReply) throws {
  try checkRefusal(read, reply)
  guard case .granted(let registration) = read else { return }
  try require(ClientRegistration(stored: registration.stored) == registration, "it is not stored")
  try require(!registration.clientID.isEmpty, "the client has no id")
  try require(
    !registration.auth.needsSecret || registration.secret != nil, "the client has no secret")
  guard let management = registration.management else { return }
  let url = ProviderURL(usable: management.uri)
  try require(
    url?.isSecure == true && ["id.example.com", "register.example.com"].contains(url?.host),
    "the registration token goes to \(management.uri)")
}

/// Checks that what the daemon says about a reply which it does not use can be shown, and has no
/// secret of the reply.
private func checkRefusal<Granted>(_ read: OAuthReply<Granted>, _ reply: HTTPReply) throws {
  let members = reply.jsonObject ?? [:]
  let secrets = ["auth_req_id", "client_secret", "registration_access_token", "request_uri"]
    .compactMap { members[$0]?.stringValue }.filter { $0.hasSuffix("-secret") }
  switch read {
  case .granted: break
  case .dead(let code), .misconfigured(let code), .rejected(let code):
    for text in [code.code, code.error, code.title, code.message] {
      try requireShowable(text, "the provider's error")
    }
  case .retry(let message, let delay):
    try requireShowable(message, without: secrets, "the message")
    try require((.zero ... .seconds(3600)).contains(delay ?? .zero), "a delay of \(delay ?? .zero)")
  case .unreadable(let message):
    // Another member may contain the text that the message quotes.
    let others = members.filter { !secrets.contains($0.value.stringValue ?? "") }
    let quoted = String(decoding: JSONValue.object(others).encoded(), as: UTF8.self)
    try requireShowable(
      message, without: secrets.filter { !quoted.contains($0) }, "the message")
  }
}
