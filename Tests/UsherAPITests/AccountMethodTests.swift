import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of accounts and tokens on the wire")
struct AccountMethodTests {
  private let work = ProviderName("work")
  private let ada = AccountID("acc_1")

  @Test("account.list and account.get")
  func accounts() {
    checkWire(AccountList(), "{}")
    checkWire(AccountList(provider: work), #"{"provider":"work"}"#)
    checkWire(AccountList.Reply(accounts: [plainAccount]), #"{"accounts":[\#(plainAccountJSON)]}"#)
    checkWire(AccountGet(account: ada), #"{"account":"acc_1"}"#)
    checkWire(AccountGet.Reply(account: plainAccount), #"{"account":\#(plainAccountJSON)}"#)
  }

  @Test("account.forget")
  func forget() {
    checkWire(AccountForget(account: ada), #"{"account":"acc_1"}"#)
    checkWire(
      AccountForget(provider: work, revoke: false), #"{"provider":"work","revoke":false}"#)
    checkWire(
      AccountForget.Reply(account: ada, revoked: .done), #"{"account":"acc_1","revoked":"done"}"#)
    checkWire(
      AccountForget.Reply(
        account: ada, revoked: .failed,
        living: [
          .init(token: .refreshToken, scope: "openid", expiresAt: nil, why: .unreachable),
          .init(token: .accessToken, scope: "", expiresAt: later, why: .notAsked),
        ], retriedUntil: started),
      """
      {"account":"acc_1","revoked":"failed","living":[
        {"token":"refresh_token","scope":"openid","why":"unreachable"},
        {"token":"access_token","scope":"","expiresAt":"\(laterJSON)","why":"not_asked"}],
       "retriedUntil":"\(startedJSON)"}
      """)
    checkWire(
      LivingToken.Reason.allCases,
      #"["not_asked","unsupported","refused","unreachable","not_configured"]"#)
    checkWire(AccountForget.Revocation.allCases, #"["done","skipped","failed"]"#)
  }

  @Test("token.get")
  func get() {
    checkWire(TokenGet(), "{}")
    checkWire(
      TokenGet(
        account: ada, provider: work, scope: "openid", audience: "till", minValidSeconds: 60,
        forceRefresh: true),
      """
      {"account":"acc_1","provider":"work","scope":"openid","audience":"till","minValidSeconds":60,
       "forceRefresh":true}
      """)
    checkWire(
      TokenGet.Reply(
        accessToken: WireSecret("at"), tokenType: "Bearer", expiresAt: later, scope: "openid",
        account: ada),
      """
      {"accessToken":"at","tokenType":"Bearer","expiresAt":"\(laterJSON)","scope":"openid",
       "account":"acc_1"}
      """)
    checkWire(
      TokenGet.Reply(
        accessToken: WireSecret("at"), tokenType: "Bearer", scope: "", account: ada),
      #"{"accessToken":"at","tokenType":"Bearer","expiresAt":null,"scope":"","account":"acc_1"}"#)
  }

  @Test("token.list and token.revoke")
  func listAndRevoke() {
    checkWire(TokenList(), "{}")
    checkWire(
      TokenList(account: ada, provider: work), #"{"account":"acc_1","provider":"work"}"#)
    checkWire(
      TokenList.Reply(tokens: [
        TokenList.Entry(account: ada, provider: work, token: plainAccount.tokens[0])
      ]),
      """
      {"tokens":[{"account":"acc_1","provider":"work",
                  "token":{"scope":"openid","expiresAt":null,"status":"valid"}}]}
      """)
    checkWire(TokenRevoke(), "{}")
    checkWire(
      TokenRevoke(account: ada, provider: work), #"{"account":"acc_1","provider":"work"}"#)
    checkWire(
      TokenRevoke.Reply(account: ada, revoked: .skipped),
      #"{"account":"acc_1","revoked":"skipped"}"#)
  }

  @Test("totp.code and totp.list")
  func codes() {
    checkWire(TOTPCode(), "{}")
    checkWire(
      TOTPCode(account: ada, provider: work), #"{"account":"acc_1","provider":"work"}"#)
    let reply = TOTPCode.Reply(code: WireSecret("081804"), periodSeconds: 60, expiresAt: later)
    checkWire(
      reply, #"{"code":"081804","periodSeconds":60,"expiresAt":"\#(laterJSON)"}"#)
    #expect(!String(describing: reply).contains("081804"))
    checkWire(TOTPList(), "{}")
    checkWire(TOTPList(provider: work), #"{"provider":"work"}"#)
    checkWire(
      TOTPList.Reply(accounts: [
        TOTPList.Entry(
          account: ada, provider: work, label: "Ada", periodSeconds: 60, digits: 6)
      ]),
      """
      {"accounts":[{"account":"acc_1","provider":"work","label":"Ada","periodSeconds":60,
                    "digits":6}]}
      """)
  }
}
