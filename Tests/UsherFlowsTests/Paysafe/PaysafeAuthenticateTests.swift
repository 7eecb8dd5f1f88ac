import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Paysafe authenticate")
struct PaysafeAuthenticateTests {
  /// A JWT with the subject `c-1` and the expiry 1900000000.
  private static let token = "e30.eyJzdWIiOiJjLTEiLCJleHAiOjE5MDAwMDAwMDB9.c2ln"

  private func begin(
    _ token: String = token, account: KnownAccount? = nil,
    _ change: (inout PaysafeAuthenticate.Params) -> Void = { _ in }
  ) throws -> Answer<PaysafeCall> {
    var params = PaysafeAuthenticate.Params(accessToken: WireSecret(Secret(token)))
    change(&params)
    var moment = moment(now)
    let context = FlowContext<PaysafeSettings>(
      provider: Provider(try DrivenPaysafeAuthorize.provider())!, account: account,
      requestID: "req-1")
    return try PaysafeAuthenticate.begin(params, context, at: &moment).1
  }

  private func grant(_ answer: Answer<PaysafeCall>) -> AccountGrant? {
    if case .finish(let completion) = answer { completion.grant } else { nil }
  }

  @Test("an access token of the partner's backend signs the customer in at once")
  func signsIn() throws {
    let grant = try #require(grant(try begin { $0.refreshToken = WireSecret(Secret("r-1")) }))
    #expect(grant.subject == "c-1")
    #expect(grant.attributes["brandIdentity"] != nil)
    #expect(grant.tokens?.expiresAt == Timestamp(seconds: 1_900_000_000))
    #expect(grant.tokens?.refreshToken?.unsealed() == Secret("r-1"))
  }

  @Test("the stated lifetime of the token takes precedence over its own expiry")
  func lifetime() throws {
    let grant = try #require(grant(try begin { $0.expiresIn = 900 }))
    #expect(grant.tokens?.expiresAt == now + .seconds(900))
  }

  @Test("the token of another customer does not sign a named account in")
  func otherCustomer() throws {
    let account = KnownAccount(id: AccountID("acc_2"), subject: "c-2")
    guard case .fail(let failure, _) = try begin(account: account) else {
      Issue.record("the token of another customer was accepted")
      return
    }
    #expect(failure.reason == .providerRejected)
  }

  @Test(
    "an access token that names no customer is refused by its field",
    arguments: ["", "opaque", "e30.e30.c2ln", "a b"])
  func unusable(token: String) throws {
    let error = #expect(throws: UsherError.self) { try begin(token) }
    #expect(error?.reason == .invalidParams && error?.detail.field == "params.accessToken")
  }
}
