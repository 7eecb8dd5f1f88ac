import JSONRPC
import Testing
import UsherTestKit

/// The daemon dies at each transition of a flow and at each of its calls to the provider, and is
/// started again.
@Suite("Deaths of usherd during OpenID flows", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct OIDCSurvivalTests {
  private let trust: TrustedAuthority

  init() throws { trust = try TrustedAuthority() }

  @Test(
    "a flow ends well or says that its outcome is unknown, and the provider counts one grant",
    arguments: DyingGrant.allCases, failPoints + callFailPoints)
  func flows(grant: DyingGrant, point: String) throws {
    let fixture = try grant.fixture(trust)
    let deaths = try fixture.deaths(at: point) { number in
      let story = DyingGrantStory(grant, dyingAt: point, number)
      return { try story.run($0) }
    }
    let (transitions, calls) = grant.leastDeaths
    let least = callFailPoints.contains(point) ? calls : transitions
    #expect((least..<29).contains(deaths), "the daemon died \(deaths) times")
  }

  private static let changes = callFailPoints + ["store.before-commit", "store.after-commit"]

  @Test(
    "a death during a token exchange changes no token of the account, and the audience gets one",
    arguments: changes)
  func exchange(point: String) throws {
    let fixture = try OIDCFixture(
      provider: "audience_parameter = \"audience\"\ntoken_exchange = true\ndpop = true")
    try fixture.set(["accessTokenSeconds": 3600])
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let main = try fixture.token()
    let deaths = try fixture.deaths(at: point) { number in
      let params: JSONValue = ["provider": "demo", "audience": .string("mail-\(number)")]
      var told: JSONValue?
      return { fixture in
        let token = try fixture.token(params)
        try must(told == nil || told == token, "a token that was returned is lost")
        told = token
        try must(try fixture.isActive(token["accessToken"]), "the provider refuses the token")
        try must(token["tokenType"] == "DPoP", "the token is bound to no key")
        try must(try fixture.token() == main, "the account's own token has changed")
        try must(try fixture.proves(account), "the service refuses the account's own token")
      }
    }
    #expect((1..<29).contains(deaths), "the daemon died \(deaths) times")
    #expect(try fixture.refreshes == 0)
  }

  @Test(
    "a registration that was answered is kept, and one that was not can be repeated",
    arguments: changes)
  func registration(point: String) throws {
    let fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "work"
      type = "oidc"
      issuer = "\(sandbox.issuer)"

      """
    }
    let isLossy = ["call.after-reply", "store.before-commit"].contains(point)
    let deaths = try fixture.deaths(at: point) { _ in
      var story = RegistrationStory(isLossy: isLossy, before: try fixture.registeredClients)
      return { try story.run($0) }
    }
    #expect((2..<29).contains(deaths), "the daemon died \(deaths) times")
  }

  @Test(
    "a client's key that provider.jwks has returned is still the key after a death",
    arguments: ["key", "own"], ["store.before-commit", "store.after-commit"])
  func key(provider: String, point: String) throws {
    let fixture = try OIDCFixture { sandbox in
      trust.provider("own", at: sandbox) + """
        [[provider]]
        name = "key"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "key-certificate"
        client_auth = "private_key_jwt"

        """
    }
    let deaths = try fixture.deaths(at: point) { _ in
      var (isCleared, told) = (false, JSONValue?.none)
      return { fixture in
        let admin = try fixture.daemon.admin()
        if !isCleared {
          _ = try admin.reply(
            to: "credential.delete", ["name": .string("\(provider)-certificate")])
          isCleared = true
        }
        let create: JSONValue = ["provider": .string(provider), "create": true]
        told = try admin.call("provider.jwks", create)
        try fixture.daemon.restart(environment: ["USHER_FAILPOINT": ""])
        let again = try fixture.daemon.admin().call("provider.jwks", create)
        try must(again == told, "the key that was returned is lost")
      }
    }
    // At least when the key is stored.
    #expect((1..<29).contains(deaths), "the daemon died \(deaths) times")
  }
}

/// The registration of a client, and a sign-in by it.
private struct RegistrationStory {
  /// Whether a death can lose a client that the provider has registered.
  let isLossy: Bool
  /// The number of clients that the provider had before.
  let before: Int
  private var runs = 0
  private var isCleared = false
  /// Whether the daemon has said that it is registered.
  private var isTold = false

  init(isLossy: Bool, before: Int) {
    self.isLossy = isLossy
    self.before = before
  }

  mutating func run(_ fixture: OIDCFixture) throws {
    runs += 1
    let admin = try fixture.daemon.admin()
    // Forgets the client of the earlier story, which stays at the provider.
    if !isCleared {
      _ = try admin.reply(to: "credential.delete", ["name": "usherd.client.work"])
      isCleared = true
    }
    let reply = try admin.reply(to: "provider.register", ["provider": "work"])
    if reply["result"] != nil {
      try must(!isTold, "a registration that was answered is lost")
      isTold = true
    } else {
      // The registration was stored before the daemon could answer.
      let message = reply["error"]?["message"]?.stringValue ?? ""
      try must(runs > 1 && message.contains("has a client already"), reply.text)
    }
    let new = try fixture.registeredClients - before
    try must(
      new == 1 || new == 2 && isLossy && runs > 1, "the provider has registered \(new) clients")
    try fixture.app.signIn("work")
  }
}

extension OIDCFixture {
  /// The number of clients that have registered themselves at the provider.
  fileprivate var registeredClients: Int {
    get throws {
      try sandbox.control("GET", "registrations")["clients"]?.arrayValue?.count ?? 0
    }
  }
}
