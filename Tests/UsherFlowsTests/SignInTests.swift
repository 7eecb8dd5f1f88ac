import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("OIDC authorize from the tokens to the account")
struct SignInTests {
  /// Returns a flow that is verifying its ID token, and the nonce that the token must have.
  private func driven(
    _ metadata: OIDCMetadata = metadata(), account: KnownAccount? = nil,
    reply: HTTPReply = tokenReply(), _ params: OIDCAuthorize.Params = .init()
  ) throws -> (DrivenAuthorize, nonce: String) {
    var driven = try DrivenAuthorize(account: account, params)
    driven.toBrowser(metadata)
    let nonce = driven.query["nonce"] ?? ""
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .reply(reply)))
    return (driven, nonce)
  }

  private func genuine(
    _ nonce: String, _ changes: [String: JSONValue?] = [:]
  ) -> FlowEvent<OIDCCall> {
    .idTokenVerified(.genuine(payload: claims(nonce: nonce, changes).encoded()))
  }

  @Test("OIDC authorize verifies the ID token, reads userinfo and completes with the account")
  func way() throws {
    var (driven, nonce) = try driven()
    #expect(driven.last == .proceed([.verifyIDToken(idToken, metadata: metadata())]))
    #expect(driven.flow.view.state == "verifying")
    driven.receive(genuine(nonce))
    let userinfo = OIDCCall.userinfo(accessToken: Secret("access-secret"), metadata())
    #expect(driven.last == .proceed([.call(userinfo)]))
    #expect(driven.flow.view.state == "userinfo")
    driven.receive(
      .called(userinfo, .reply(reply(["sub": "u-1", "name": "Ada L.", "email": "a@b.c"]))))
    let grant = driven.completion?.grant
    #expect(grant?.subject == "u-1")
    #expect(grant?.label == "Ada L.")
    #expect(grant?.profile == ["name": "Ada L.", "email": "a@b.c"])
    #expect(grant?.keepAlive == false)
    #expect(grant?.tokens == copy(try #require(tokens())) { $0.idToken = nil })
    #expect(
      grant?.idToken == IDToken(token: Sealed(idToken), expiresAt: now + .seconds(300)))
    #expect(grant?.signIn?.nonce == Sealed(Secret(nonce)))
  }

  @Test("acr_values, max_age and claims of the configuration are checked like those of the caller")
  func configuredAuthentication() throws {
    let essential = #"{"id_token":{"acr":{"essential":true,"values":["silver","gold"]}}}"#
    for (extra, changes, isAccepted) in [
      (["acr_values": "silver gold"], ["acr": "gold"], true),
      (["acr_values": "silver gold"], ["acr": "bronze"], false), (["acr_values": " "], [:], true),
      (["max_age": "60"], ["auth_time": 1_799_999_990], true),
      (["max_age": "60"], ["auth_time": 1_799_999_000], false), (["max_age": "60"], [:], false),
      (["claims": essential], ["acr": "gold"], true),
      (["claims": essential], ["acr": "bronze"], false), (["claims": essential], [:], false),
    ] as [([String: String], [String: JSONValue?], Bool)] {
      var driven = try DrivenAuthorize(settings: { $0.extraAuthorize = extra })
      driven.toBrowser(metadata { $0.userinfoEndpoint = nil })
      let nonce = driven.query["nonce"] ?? ""
      driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
      driven.receive(.called(try #require(driven.calls.first), .reply(tokenReply())))
      driven.receive(genuine(nonce, changes))
      #expect((driven.completion != nil) == isAccepted, "\(extra) \(changes)")
      #expect((driven.failure?.reason == .providerProtocolError) != isAccepted)
    }
    var params = OIDCAuthorize.Params()
    params.acrValues = "gold"
    var (driven, nonce) = try driven(metadata(), params)
    driven.receive(genuine(nonce, ["acr": "bronze"]))
    #expect(driven.failure?.message.contains("acr") == true)
  }

  @Test("OIDC authorize completes without a userinfo call if the metadata has no userinfo endpoint")
  func noUserinfo() throws {
    var params = OIDCAuthorize.Params()
    params.keepAlive = true
    var (driven, nonce) = try driven(metadata { $0.userinfoEndpoint = nil }, params)
    driven.receive(genuine(nonce))
    #expect(driven.completion?.grant?.profile == ["name": "Ada"])
    #expect(driven.completion?.grant?.keepAlive == true)
  }

  @Test("OIDC authorize completes with the profile of the ID token if userinfo fails")
  func userinfoFails() throws {
    let outcomes: [CallOutcome] = [
      .reply(reply(text: "", status: 403)), .reply(reply(text: "x")),
      .unreachable(message: "gone", sent: true), .unreadable(message: "too long"),
    ]
    for outcome in outcomes {
      var (driven, nonce) = try driven()
      driven.receive(genuine(nonce))
      let call = try #require(driven.calls.first)
      driven.receive(.called(call, outcome))
      #expect(driven.completion?.grant?.profile == ["name": "Ada"])
    }
  }

  @Test("OIDC authorize verifies a userinfo reply that is a token, and reads its claims")
  func userinfoToken() throws {
    let jwt = reply(text: "a.b.c", headers: ["content-type": "application/jwt"])
    let verify = Effect<OIDCCall>.verifyIDToken(
      Secret("a.b.c"), as: .userinfo, metadata: metadata())
    var (driven, nonce) = try driven()
    driven.receive(genuine(nonce))
    driven.receive(.called(try #require(driven.calls.first), .reply(jwt)))
    #expect(driven.last == .proceed([verify]) && driven.flow.view.state == "userinfo")
    #expect(driven.receive(.resumed) == .proceed([verify]))
    var good = driven
    good.receive(
      .idTokenVerified(.genuine(payload: claims(nonce: nil, ["nickname": "ada"]).encoded())))
    #expect(good.completion?.grant?.profile?["nickname"] == "ada")
    #expect(good.completion?.warning == nil)
    // What cannot be used is told in the log, and does not end the sign-in.
    for verdict in [
      .refused(message: "bad"), .keyless(message: "bad"), .unreachable(message: "bad"),
    ] as [IDTokenVerdict] {
      var driven = driven
      driven.receive(.idTokenVerified(verdict))
      #expect(driven.completion?.grant?.profile == ["name": "Ada"])
      #expect(driven.completion?.warning == "bad")
    }
    var other = driven
    other.receive(
      .idTokenVerified(.genuine(payload: claims(nonce: nil, ["sub": "u-2"]).encoded())))
    #expect(other.failure?.reason == .providerProtocolError && other.cleanUp == [revocation])
  }

  @Test("OIDC authorize keeps the signed token of an encrypted ID token")
  func decrypted() throws {
    var (driven, nonce) = try driven(metadata { $0.userinfoEndpoint = nil })
    let inner = signed(["alg": "RS256"], claims(nonce: nonce))
    driven.receive(
      .idTokenVerified(.genuine(payload: claims(nonce: nonce).encoded(), decrypted: inner)))
    #expect(driven.completion?.grant?.idToken?.token == Sealed(inner))
  }

  @Test("OIDC authorize refuses an ID token whose c_hash or s_hash is not that of its messages")
  func codeHash() throws {
    let good = SigningAlgorithm.rs256.leftHash(of: Secret("code-secret"))
    for (changes, isAccepted) in [
      (["c_hash": .string(good.revealed())], true), (["c_hash": "AAAA"], false),
      (["s_hash": "AAAA"], false), ([:], true),
    ] as [([String: JSONValue?], Bool)] {
      var (driven, nonce) = try driven(metadata { $0.userinfoEndpoint = nil })
      driven.receive(genuine(nonce, changes))
      #expect((driven.completion != nil) == isAccepted, "\(changes)")
    }
  }

  @Test("OIDC authorize names the aggregated and distributed claims that are not read")
  func claimSources() throws {
    let names: JSONValue = ["address": "bank", "phone_number": "bank"]
    for isInUserinfo in [false, true] {
      var (driven, nonce) = try driven()
      driven.receive(genuine(nonce, isInUserinfo ? [:] : ["_claim_names": names]))
      let body: JSONValue = isInUserinfo ? ["sub": "u-1", "_claim_names": names] : ["sub": "u-1"]
      driven.receive(.called(try #require(driven.calls.first), .reply(reply(body))))
      #expect(driven.completion?.warning?.contains("address, phone_number") == true)
    }
  }

  @Test("OIDC authorize fails and revokes the tokens if userinfo names another subject")
  func otherUserinfo() throws {
    var (driven, nonce) = try driven()
    driven.receive(genuine(nonce))
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .reply(reply(["sub": "u-2"]))))
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.cleanUp == [revocation])
  }

  @Test(
    "OIDC authorize fails and revokes the tokens if the ID token's signature or a claim is refused")
  func refused() throws {
    var (driven, _) = try driven()
    driven.receive(.idTokenVerified(.refused(message: "bad signature")))
    #expect(driven.failure == .protocolError("bad signature"))
    #expect(driven.cleanUp == [revocation])
    for (claim, value) in [("aud", "other"), ("nonce", "replayed"), ("at_hash", "AAAA")] {
      var (driven, nonce) = try self.driven()
      driven.receive(genuine(nonce, [claim: .string(value)]))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.message.hasPrefix("the ID token is refused: ") == true)
      #expect(driven.cleanUp == [revocation])
    }
  }

  @Test("OIDC authorize refuses an ID token with alg none even if its verification succeeded")
  func badHeader() throws {
    let none = signed(["alg": "none"])
    var (driven, nonce) = try driven(
      reply: tokenReply(["id_token": .string(none.revealed())]))
    driven.receive(genuine(nonce))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("OIDC authorize refuses an ID token whose auth_time is older than the requested max_age")
  func maxAge() throws {
    var params = OIDCAuthorize.Params()
    params.maxAgeSeconds = 10
    var (driven, nonce) = try driven(metadata(), params)
    driven.receive(genuine(nonce, ["auth_time": 1_799_000_000]))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("OIDC authorize fails and revokes the tokens if the token reply has no ID token")
  func noIDToken() throws {
    let (driven, _) = try driven(reply: tokenReply(["id_token": .some(nil)]))
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.cleanUp == [revocation])
  }

  @Test(
    "OIDC authorize fails and revokes the tokens if another subject than the account's signs in")
  func otherAccount() throws {
    let account = KnownAccount(id: AccountID("acc_1"), subject: "u-9")
    var (driven, nonce) = try driven(account: account)
    driven.receive(genuine(nonce))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.cleanUp == [revocation])
    let same = KnownAccount(id: AccountID("acc_1"), subject: "u-1")
    (driven, nonce) = try self.driven(account: same)
    driven.receive(genuine(nonce))
    #expect(driven.calls.count == 1)
  }

  @Test("OIDC authorize retries unreachable keys five times, then fails and revokes the tokens")
  func keysUnreachable() throws {
    var (driven, nonce) = try driven()
    let verify = driven.last
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.idTokenVerified(.unreachable(message: "gone")))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.flow.view.problem == .unreachable("gone"))
      #expect(driven.receive(.woken) == verify)
    }
    var later = driven
    later.receive(genuine(nonce))
    #expect(later.flow.view.problem == nil)
    driven.receive(.idTokenVerified(.unreachable(message: "gone")))
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.cleanUp == [revocation])
  }
}
