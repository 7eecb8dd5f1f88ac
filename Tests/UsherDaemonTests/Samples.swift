import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

extension Owner {
  static let anna = Owner(realm: "host", uid: 1000)
  static let bert = Owner(realm: "host", uid: 1001)
}

extension ProviderName {
  static let work = ProviderName("work")
}

extension ProviderConfig {
  static func sample() throws -> ProviderConfig {
    let issuer = try ProviderURL(setting: "https://id.example")
    return ProviderConfig(
      name: .work, settings: .oidc(OIDCSettings(issuer: issuer, clientID: "usher")))
  }
}

extension World {
  static func fake(_ clock: FakeClock, _ alarms: FakeAlarms, config: Config = Config()) -> World {
    World(config: config, clock: clock, entropy: FixedEntropy(), alarms: alarms)
  }
}

extension TokenSet {
  static func sample(
    _ accessToken: String = "access-1", refreshToken: String? = "refresh-1",
    expiresAt: Timestamp? = nil, refreshExpiresAt: Timestamp? = nil, scope: String = "openid"
  ) -> TokenSet {
    TokenSet(
      accessToken: Sealed(Secret(accessToken)), tokenType: "Bearer", expiresAt: expiresAt,
      scope: scope, refreshToken: refreshToken.map { Sealed(Secret($0)) },
      refreshExpiresAt: refreshExpiresAt)
  }
}

extension AccountGrant {
  static func sample(
    _ subject: String = "usr_anna", keepAlive: Bool = false, tokens: TokenSet = .sample()
  ) -> AccountGrant {
    AccountGrant(
      subject: subject, label: "anna@example.com", keepAlive: keepAlive, tokens: tokens)
  }
}

extension Workplace {
  func store(_ clock: any Clock = SystemClock()) throws -> Store {
    try Store.open(
      path: file("usherd.db"), masterKey: [UInt8](repeating: 7, count: 32), clock: clock,
      entropy: SystemEntropy())
  }
}
