import FoundationEssentials
import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Log-out callbacks of Freedom ID")
struct FreedomLogoutTests {
  private static func dialect(
    _ change: (inout FreedomIDSettings) throws -> Void = { _ in }
  ) throws -> (any CallbackDialect)? {
    let provider = try Freedom.provider {
      $0.callbackListen = try LoopbackAddress(setting: "127.0.0.1:8791")
      try change(&$0)
    }
    return provider.definition.callback
  }

  private func read(_ body: String) throws -> ProviderCallback {
    let dialect = try #require(try Self.dialect())
    return try dialect.read(authorization: nil, body: Array(body.utf8))
  }

  private func followUp(_ attributes: [String: JSONValue]) throws -> (any AccountFollowUp)? {
    try Freedom.provider().definition.followUp(attributes: attributes)
  }

  @Test("Freedom ID log-out callbacks are accepted only in mode oauth2 with a callback address")
  func taken() throws {
    let dialect = try #require(try Self.dialect())
    #expect(dialect.method == .post && dialect.path == "/v1/freedomid/revoke")
    #expect(dialect.address.settingText == "127.0.0.1:8791")
    #expect(dialect.credentialName == nil)
    #expect(try Self.dialect { $0.callbackListen = nil } == nil)
    #expect(try Self.dialect { $0.mode = .device } == nil)
    #expect(try Self.dialect { $0.mode = .oidc } == nil)
    let other = try Self.dialect { $0.paths.revoke = try ProviderPath(setting: "/gone") }
    #expect(other?.path == "/gone")
  }

  @Test("a Freedom ID log-out callback carries only the token id and names no flow")
  func reading() throws {
    let callback = try read("{\"id\": \"token-id-1\", \"new\": 1}")
    #expect(callback.authorization == Secret("token-id-1"))
    #expect(callback.requestID == nil && callback.members.isEmpty && !callback.isAuthenticated)
  }

  @Test(
    "a Freedom ID log-out callback without a valid token id is refused",
    arguments: [
      "", "x", "[]", "null", "{", "{}", "{\"id\": null}", "{\"id\": 7}", "{\"id\": \"\"}",
      "id=token-id-1",
      "\"token-id-1\"", "[{\"id\": \"token-id-1\"}]", "{\"id\": [\"token-id-1\"]}",
      "{\"token\": \"token-id-1\"}", "{\"id\": \"token-id-1\", \"id\": \"x\"}",
      "{\"id\": \"\(String(repeating: "x", count: 129))\"}",
    ])
  func unreadable(body: String) throws {
    #expect(throws: CallbackRefusal.self) { try read(body) }
  }

  @Test("a Freedom ID log-out callback gets the same answer whether its token id is known or not")
  func answers() throws {
    let dialect = try #require(try Self.dialect())
    let taken = dialect.answer(.accepted)
    #expect(taken.status == 200 && taken.body == Array("{}".utf8))
    for outcome in [CallbackOutcome.unauthorized, .unknown, .conflict] {
      #expect(dialect.answer(outcome) == taken)
    }
    let others: [(CallbackOutcome, Int)] = [
      (.unreadable(CallbackRefusal("bad")), 400), (.otherPath, 404), (.otherMethod, 405),
      (.tooLarge, 413), (.unavailable, 503),
    ]
    for (outcome, status) in others {
      let reply = dialect.answer(outcome)
      #expect(reply.status == status && reply.headers["content-type"] == "application/json")
      #expect((reply.headers["allow"] == "POST") == (status == 405))
    }
  }

  @Test("a Freedom ID log-out callback ends the grant of the account with that token id")
  func learnt() throws {
    let followUp = try #require(
      try followUp([
        "mode": "oauth2", "tokenIdHash": .string(FreedomTokenID.hash(of: "token-id-1")),
      ]))
    #expect(!(followUp is any AccountInquiry))
    let mine = try read("{\"id\": \"token-id-1\"}")
    let dialect = try #require(try Self.dialect())
    #expect(dialect.callKey(of: mine) == followUp.callKey)
    #expect(followUp.validate(mine, token: nil) == .match)
    #expect(
      followUp.changes(from: mine, at: now)
        == .grantRevoked(
          ProviderErrorCode(
            name: Freedom.name, code: "logged_out", message: "the person has logged out")))
    for id in ["token-id-2", "token-id-", "token-id-10"] {
      let other = try read("{\"id\": \"\(id)\"}")
      #expect(dialect.callKey(of: other) != followUp.callKey)
      #expect(followUp.validate(other, token: nil) != .match)
      #expect(followUp.changes(from: other, at: now) == .nothing)
    }
  }

  @Test("an account without a token id has no follow-up for Freedom ID log-out callbacks")
  func none() throws {
    for attributes in [[:], ["tokenIdHash": ""], ["tokenIdHash": 7], ["tokenIdHash": nil]]
      as [[String: JSONValue]]
    {
      #expect(try followUp(attributes) == nil)
    }
  }
}
