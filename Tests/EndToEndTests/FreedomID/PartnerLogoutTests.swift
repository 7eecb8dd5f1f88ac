import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Freedom reports a log-out to the partner's `revoke_uri`, with the token's id and nothing else.
@Suite("Log-out callbacks of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerLogoutTests {
  private let fixture: FreedomFixture
  private let url: String

  init() throws {
    let port = UInt16(try LoopbackPort.unused())
    fixture = try FreedomFixture.partner("callback_listen = \"127.0.0.1:\(port)\"")
    url = "http://127.0.0.1:\(port)/v1/freedomid/revoke"
    try fixture.set(["revokeUri": .string(url)])
  }

  private func tokenID(_ account: JSONValue) throws -> String {
    #expect(
      try fixture.account(account)["attributes"]?["tokenId"] == nil,
      "the attributes must not contain the token id, because it can revoke the grant")
    return try fixture.list("tokens").last?["id"]?.stringValue ?? ""
  }

  private func post(_ body: String, type: String = "application/json") throws -> Web.Reply {
    try Web.send("POST", url, body: Array(body.utf8), type: type)
  }

  private func logOut(_ params: JSONValue) throws -> JSONValue {
    try fixture.sandbox.control("POST", "freedomid/logout", params)
  }

  @Test("a log-out at Freedom ends the account's token, and its owner gets one event")
  func loggedOut() throws {
    let account = try fixture.signedIn().account
    let listener = try PartnerListener(fixture.daemon.client())
    let page = try fixture.own("alice")
    _ = try fixture.press("me", ["action": "logout"], on: page)
    let told = try fixture.list("revocations")
    #expect(told.map { $0["status"] } == [200] && told.map { $0["body"] } == ["{}"])
    for force in [false, true] {
      let error = try fixture.tokenError(["provider": "freedom", "forceRefresh": .bool(force)])
      #expect(error["code"] == 1102 && error.reason == "reauthentication_required")
      #expect(error.next?["params"]?["account"] == account, "\(error.text)")
    }
    #expect(try fixture.requests("refresh") == 0, "the daemon does not refresh a revoked token")
    // A repeated callback emits no second event.
    #expect(try post("{\"id\": \"\(tokenID(account))\"}").status == 200)
    let next = try fixture.authorize(["read.firstname"])
    #expect(try listener.deaths(before: next).map { $0["account"] } == [account])
    #expect(
      try fixture.account(account)["tokens"]?.arrayValue?.allSatisfy {
        $0["status"] == "dead"
      } == true)
    try fixture.visit(next)
    #expect(try fixture.app.finished(next).account == account)
    #expect(try fixture.token()["account"] == account)
  }

  @Test("Freedom ID's log-out ends the token of its own account only, also after a restart")
  func onlyOne() throws {
    let alice = try fixture.signedIn().account
    let bob = try fixture.signedIn(as: "bob").account
    #expect(try logOut(["username": "bob"])["answers"]?[0]?["status"] == 200)
    for token in try fixture.list("tokens") {
      let id = try #require(token["id"]?.stringValue)
      #expect(
        !fixture.daemon.log.contains(id),
        "the log contains a token id, which suffices to revoke the grant")
    }
    let after = try fixture.restarted()
    #expect(try after.tokenError(["account": bob])["code"] == 1102)
    #expect(try after.token(["account": alice])["account"] == alice)
  }

  @Test("Freedom ID's log-out of an unknown id is answered like a known one's, and ends nothing")
  func unknown() throws {
    let account = try fixture.signedIn().account
    let id = try tokenID(account)
    let others = [
      "01234567-89ab-4def-8123-456789abcdef", String(id.dropLast()), id + "0", id.uppercased(),
      "*", "%", "acc_1", account.stringValue ?? "", String(repeating: "x", count: 128),
    ]
    let unknown = try others.map { try post("{\"id\": \"\($0)\"}") }
    #expect(try fixture.token()["account"] == account)
    let known = try post("{\"id\": \"\(id)\"}")
    for reply in unknown {
      #expect(reply.status == 200 && reply.body == known.body && reply.text == "{}")
      #expect(reply.headers == known.headers)
    }
    #expect(try fixture.tokenError()["code"] == 1102)
    // The sandbox can report a log-out of an unknown id, too.
    #expect(try logOut(["tokenId": "nobody's"])["answers"]?[0]?["status"] == 200)
  }

  @Test("a malformed Freedom ID log-out callback is refused, reveals nothing and ends nothing")
  func noise() throws {
    let account = try fixture.signedIn().account
    let id = try tokenID(account)
    let right = Array("{\"id\": \"\(id)\"}".utf8)
    let elsewhere = url.replacing("/v1/freedomid/revoke", with: "/V1/freedomid/revoke")
    let replies = [
      (400, try post("{\"id\": [\"\(id)\"]}")), (400, try post("id=\(id)")),
      (404, try Web.send("POST", elsewhere, json: right)),
      (405, try Web.send("GET", url, json: right)),
      (413, try Web.send("POST", url, json: right + [UInt8](repeating: 0x20, count: 70_000))),
    ]
    for (status, reply) in replies {
      #expect(reply.status == status, "\(reply.text)")
      let said = reply.text + reply.headers.values.joined()
      for word in [id, "freedomid", "alice", "Freedom ID", account.stringValue ?? "none"] {
        #expect(!said.contains(word), "the reply contains \(word): \(said)")
      }
    }
    #expect(try fixture.token()["account"] == account)
    #expect(try fixture.requests("refresh") == 0)
  }

  @Test("twenty unfinished requests do not keep a Freedom ID log-out callback from being served")
  func halfACall() throws {
    let account = try fixture.signedIn().account
    let port = UInt16(try #require(URLComponents(string: url)?.port))
    let half = "POST /v1/freedomid/revoke HTTP/1.1\r\nHost: x\r\nContent-Le"
    let idle = try (0..<20).map { _ in
      let socket = try TestSocket(connectedTo: .loopback(port: port))
      try socket.send(Array(half.utf8))
      return socket
    }
    #expect(try logOut([:])["answers"]?[0]?["status"] == 200)
    #expect(try fixture.tokenError(["account": account])["code"] == 1102)
    withExtendedLifetime(idle) {}
  }

  @Test("a log-out in the middle of Freedom ID authorize ends the flow, and no account is added")
  func duringFlow() throws {
    let flow = try fixture.authorize(["read.firstname"])
    try fixture.spoil("user", ["status": 503])
    // The client submits the redirect URL: a browser would wait for the end of the flow.
    let back = try fixture.decide(at: flow.url)
    _ = try fixture.submit(["type": "openURL", "redirectURL": .string(back)], to: flow, waitMs: 0)
    try eventually("the daemon redeems the code") { try fixture.list("tokens").count == 1 }
    #expect(try logOut([:])["answers"]?[0]?["body"] == "{}")
    try fixture.mend()
    let end = try fixture.app.finished(flow, moving: fixture.clock)
    #expect(
      end.failure == ["provider_rejected", "transmissionError.autheticationError", "100004"],
      "\(end.text)")
    #expect(try fixture.accounts().isEmpty)
  }
}
