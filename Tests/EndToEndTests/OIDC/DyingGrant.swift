import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A flow of an OpenID provider, with a method of client authentication, during which a daemon
/// dies. Together the cases use all grants and methods.
enum DyingGrant: String, CaseIterable, Sendable {
  /// With a pushed request, an answer that is signed and posted, and tokens that are bound to a
  /// key, by a client that signs assertions with its key.
  case authorize
  /// With tokens that are bound to a key, by a client without a credential.
  case device
  /// By a client that signs assertions with its secret.
  case backchannel
  /// By a client with a certificate.
  case clientCredentials
  /// By a client with a secret, which also signs the assertion for the grant.
  case jwtBearer
  /// By a client without a credential.
  case endSession

  var provider: String {
    switch self {
    case .device, .endSession: "demo"
    case .authorize, .backchannel, .jwtBearer: "work"
    case .clientCredentials: "issued"
    }
  }

  /// Whether tokens are bound to a key.
  var hasProofs: Bool { self == .authorize || self == .device }

  /// The `grant_type` of the request that gets the tokens; nil if the flow gets none.
  var grantType: String? {
    switch self {
    case .authorize: "authorization_code"
    case .device: "urn:ietf:params:oauth:grant-type:device_code"
    case .backchannel: "urn:openid:params:grant-type:ciba"
    case .clientCredentials: "client_credentials"
    case .jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer"
    case .endSession: nil
    }
  }

  /// The number of transitions and of calls to the provider that each run of the flow has at
  /// least. At each the daemon must have died once.
  var leastDeaths: (transitions: Int, calls: Int) {
    switch self {
    case .authorize: (6, 4)
    case .device, .backchannel: (4, 3)
    case .clientCredentials, .jwtBearer: (2, 2)
    case .endSession: (3, 1)
    }
  }

  private var settings: String {
    switch self {
    case .authorize:
      """
      client_id = "usher-confidential"
      client_credential = "work-key"
      client_auth = "private_key_jwt"
      pushed_requests = "always"
      response_mode = "form_post.jwt"
      dpop = true
      """
    case .backchannel:
      """
      client_id = "usher-confidential"
      client_credential = "work-secret"
      client_auth = "client_secret_jwt"
      """
    case .jwtBearer:
      """
      client_id = "usher-confidential"
      client_credential = "work-secret"
      client_auth = "basic"
      [provider.jwt_bearer]
      key_credential = "work-key"
      """
    case .device, .clientCredentials, .endSession: "client_id = \"unused\""
    }
  }

  /// Returns a daemon and a provider that are ready for the flow.
  ///
  /// - Parameter trust: The authority of the certificates.
  func fixture(_ trust: TrustedAuthority) throws -> OIDCFixture {
    let fixture = try OIDCFixture(
      provider: self == .device ? "dpop = true" : "", limits: "force_refresh_seconds = 1"
    ) { sandbox in
      trust.provider("issued", at: sandbox) + """
        [[provider]]
        name = "work"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        \(settings)

        """
    }
    // A refresh token stays valid until its successor is used, so that a lost reply loses no grant.
    try fixture.set(["deviceInterval": 1, "refreshRotation": "graceful"])
    try fixture.daemon.setCredential("work-secret", "s3cret:with/odd+chars")
    switch self {
    case .authorize, .jwtBearer:
      let keys = try fixture.daemon.admin().call(
        "provider.jwks", ["provider": "work", "create": true])
      try fixture.set(["clientKeys": ["usher-confidential": keys]])
    case .clientCredentials: try fixture.setCertificate("issued")
    case .endSession: try fixture.app.signIn()
    case .device, .backchannel: break
    }
    return fixture
  }
}

/// One run of a flow as seen by a program, a person and the provider, which outlive the daemon.
final class DyingGrantStory {
  private let grant: DyingGrant
  private let name: String
  /// Whether the provider may have answered with tokens that the daemon could not store.
  private let mayLoseTokens: Bool
  private var flow: FlowStory<OIDCFixture>
  private var runs = 0
  private var isRestartedFlow = false
  /// The number of times that a token without a refresh token was renewed, by the same grant.
  private var renewals = 0
  /// The page that is open in the browser, and the provider's answer to it.
  private var page: String?
  private var answer: Web.Reply?
  private var approvedCodes: Set<String> = []

  init(_ grant: DyingGrant, dyingAt point: String, _ number: Int) {
    self.grant = grant
    name = "run-\(number)"
    mayLoseTokens = ["call.after-reply", "store.before-commit"].contains(point)
    flow = FlowStory(Self.start(grant, name))
  }

  private static func start(_ grant: DyingGrant, _ requestID: String) -> JSONValue {
    [
      "provider": .string(grant.provider), "kind": .string(grant.rawValue),
      "requestId": .string(requestID),
      "params": grant == .backchannel ? ["loginHint": "alice", "bindingMessage": "W4SCT"] : [:],
    ]
  }

  /// Runs the flow until it ends, or continues it after a death of the daemon, and checks its end.
  func run(_ fixture: OIDCFixture) throws {
    runs += 1
    if runs == 1 {
      try fixture.forgetRequests()
      _ = try ask(fixture, allow: false)
    }
    var end = try flow.run(fixture) { try self.act($0, fixture) }
    if end["status"] == "failed" {
      try checkHonest(end)
      // As the message says: the person declines what the device shows, and another flow starts.
      _ = try ask(fixture, allow: false)
      isRestartedFlow = true
      flow = FlowStory(Self.start(grant, name + "-again"))
      end = try flow.run(fixture) { try self.act($0, fixture) }
    }
    try must(end["status"] == "succeeded", "the flow did not succeed: \(end.text)")
    try checkRequests(fixture)
    if grant.grantType != nil { try checkTokens(of: end, fixture) }
  }

  /// Does what the step asks of the person. Always waits afterwards.
  private func act(_ flow: JSONValue, _ fixture: OIDCFixture) throws -> JSONValue? {
    switch flow.stepType {
    case "openURL":
      if page != flow.url || answer == nil {
        page = flow.url
        answer = nil
        answer = try grant == .endSession ? Web.get(flow.url) : Person.decide(at: flow.url)
      }
      if let answer { try deliver(answer, to: flow, fixture) }
    case "displayCode":
      let code = flow["step"]?["userCode"]?.stringValue ?? ""
      if approvedCodes.insert(code).inserted {
        _ = try Person.decide(
          at: flow["step"]?["verificationURI"]?.stringValue ?? "", userCode: code)
      }
    case "wait" where flow["state"] == "authorization_pending": _ = try ask(fixture, allow: true)
    default: break
    }
    return nil
  }

  /// Sends the provider's answer to the daemon, and again if the daemon died meanwhile.
  private func deliver(
    _ answer: Web.Reply, to flow: JSONValue, _ fixture: OIDCFixture
  ) throws {
    try eventually("the daemon accepts the provider's answer") {
      try must(fixture.daemon.isRunning, "usherd has ended")
      if (try? Person.deliver(answer))?.status == 200 { return true }
      return try fixture.flow(flow)["revision"] != flow["revision"]
    }
  }

  /// Lets the person decide about what the own device shows: never two requests at once.
  private func ask(_ fixture: OIDCFixture, allow: Bool) throws -> Int {
    guard grant == .backchannel else { return 0 }
    let shown = try fixture.sandbox.control(
      "POST", "backchannel", ["user": "alice", "allow": .bool(allow)])["requests"]?.arrayValue
    try must(shown?.count ?? 0 <= 1, "the person's device shows \(shown?.count ?? 0) requests")
    return shown?.count ?? 0
  }

  /// Checks that a flow that failed says that its outcome is not known, after a death only.
  private func checkHonest(_ end: JSONValue) throws {
    let failure = end["failure"]
    try must(
      grant == .backchannel && runs > 1 && !isRestartedFlow
        && failure?["reason"] == "provider_unreachable" && failure?["retryable"] == false
        && failure?["message"]?.stringValue?.contains("may already ask") == true,
      "the flow failed: \(end.text)")
  }

  /// Checks what the provider has seen: one grant, and one more only for tokens that were lost; no
  /// code or assertion twice; and no poll before its time.
  private func checkRequests(_ fixture: OIDCFixture) throws {
    let seen =
      try fixture.sandbox.control("GET", "requests?endpoint=token")["requests"]?.arrayValue ?? []
    let mine = seen.filter {
      grant.grantType != nil && $0["grantType"]?.stringValue == grant.grantType
    }
    let granted = mine.count { $0["status"] == 200 }
    let most = (mayLoseTokens && runs > 1 ? 2 : 1) + renewals
    try must(
      grant.grantType == nil || (1...most).contains(granted),
      "the provider counts \(granted) grants, at most \(most) are expected: \(mine)")
    let errors = mine.compactMap { $0["error"]?.stringValue }
      .filter { $0 != "authorization_pending" }
    // The code of tokens that were lost is spent.
    let isPolled = grant == .device || grant == .backchannel
    let expected = isPolled && granted == 2 ? ["invalid_grant"] : []
    try must(errors == expected, "the provider refuses requests for tokens: \(errors)")
  }

  /// Checks that the account has tokens that the provider accepts, with the key that it has bound
  /// them to, and can refresh them.
  private func checkTokens(of end: JSONValue, _ fixture: OIDCFixture) throws {
    let account = end["result"]?["account"] ?? .null
    let all = try fixture.accounts.filter { $0["provider"]?.stringValue == grant.provider }
    try must(all.count == 1 && all[0]["id"] == account, "unexpected accounts: \(all)")
    for isForced in [false, true] {
      if isForced, grant == .clientCredentials || grant == .jwtBearer { renewals += 1 }
      let token = try fixture.token(["account": account, "forceRefresh": .bool(isForced)])
      try must(
        try fixture.isActive(token["accessToken"]), "the provider refuses the token: \(isForced)")
      guard grant.hasProofs else { continue }
      try must(token["tokenType"] == "DPoP", "the token is of type \(token["tokenType"] ?? .null)")
      try must(try fixture.proves(account), "the service refuses the proof: \(isForced)")
    }
  }
}

extension OIDCFixture {
  /// Whether the provider still honours an access token (RFC 7662).
  func isActive(_ token: JSONValue?) throws -> Bool {
    let reply = try Web.post(
      "\(sandbox.issuer)/introspect",
      form: [
        "token": token?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": "s3cret:with/odd+chars",
      ])
    return try JSONValue(parsing: reply.body)["active"] == true
  }

  /// Whether the provider's userinfo endpoint accepts the token of an account with a proof.
  func proves(_ account: JSONValue) throws -> Bool {
    let url = "\(sandbox.issuer)/userinfo"
    let reply = try app.call(
      "token.proof", ["account": account, "method": "GET", "url": .string(url)])
    let (token, proof) = (reply["accessToken"]?.stringValue, reply["proof"]?.stringValue)
    let answer = try Web.send(
      "GET", url, headers: ["Authorization": "DPoP \(token ?? "")", "DPoP": proof ?? ""])
    return answer.status == 200
  }
}
