import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Verified contacts and local authentications are per program, even between programs of one user.
@Suite("Separation of two programs of one user at BSA", .mayBlock, .timeLimit(.minutes(10)))
struct BSAIsolationTests {
  private let till: BSAFixture
  private let desk: BSAFixture
  private let programs: [NamedProgram]

  init() throws {
    let place = try TemporaryDirectory()
    let names = ["till", "desk"]
    let fixture = try BSAFixture(
      more: try names.map { try NamedProgram.rule($0, in: place) }.joined(separator: "\n"),
      at: place)
    programs = try names.map { try NamedProgram($0, in: place, at: fixture.daemon) }
    till = fixture.at(try programs[0].client())
    desk = fixture.at(try programs[1].client())
  }

  private func authenticate(_ fixture: BSAFixture) throws {
    let flow = try fixture.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "register"])
    let end = try fixture.prove(flow)
    guard end["status"] == "succeeded" else {
      throw TestError("local authentication did not succeed: \(end.text)")
    }
  }

  @Test("BSA refuses another program's disposeToken with 3006; it stays valid for its own program")
  func handle() throws {
    let token: JSONValue = .string(try till.disposeToken())
    let params = BSAPerson.alice.params() + ["disposeToken": token]
    let flow = try desk.start("register", params)
    #expect(flow.failure == ["invalid_request", "3006", nil], "\(flow.text)")
    let member: JSONValue = [
      "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email",
      "verifyData": "alice@example.com", "authType": "passcode", "disposeToken": token,
    ]
    #expect(
      try desk.start("reregisterDevice", member).failure == ["invalid_request", "3006", nil])
    let own = try till.prove(till.start("register", params))
    #expect(own["status"] == "succeeded", "\(own.text)")
  }

  @Test("a local authentication for one program does not count for another's BSA registration")
  func localAuth() throws {
    try authenticate(till)
    #expect(try till.registering()["status"] == "succeeded")
    let asked = try desk.registering(.bob)
    #expect(asked.stepType == "localAuth", "\(asked.text)")
    #expect(try desk.prove(asked)["status"] == "succeeded")
  }
}

/// Verified contacts and local authentications are also per Unix user.
@Suite(
  "Separation of two Unix users at BSA", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
struct BSAOwnerTests {
  @Test("another user's BSA disposeToken and account cannot be used; each user has a device id")
  func owners() throws {
    let fixture = try BSAFixture(more: "[access]\ngroup = \"4242\"\n")
    let users = try [4001, 4002].map { try OtherUser($0, groups: "4242", at: fixture.daemon) }
    let mine = fixture.at(try users[0].client())
    let other = fixture.at(try users[1].client())
    for fixture in [mine, other] { try fixture.setPasscode() }
    let token: JSONValue = .string(try mine.disposeToken())
    let params = BSAPerson.alice.params() + ["disposeToken": token]
    #expect(
      try other.start("register", params).failure == ["invalid_request", "3006", nil])
    let end = try mine.prove(mine.start("register", params))
    #expect(end["status"] == "succeeded", "\(end.text)")
    let account: JSONValue = ["account": end.account ?? .null]
    for method in ["account.get", "totp.code", "account.forget"] {
      #expect(try other.app.reason(of: method, account) == "not_found", "\(method)")
    }
    // The first user's local authentication does not count for the other user.
    let asked = try other.registering(.bob)
    #expect(asked.stepType == "localAuth", "\(asked.text)")
    #expect(try other.prove(asked)["status"] == "succeeded")
    #expect(Set(try fixture.list("registrations").map { $0["deviceId"] }).count == 2)
    #expect(try mine.accounts().count == 1 && other.accounts().count == 1)
    withExtendedLifetime(users) {}
  }
}
