import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Verified numbers are per Unix user.
@Suite(
  "Separation of two Unix users at Truecaller", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
struct TruecallerOwnerTests {
  private let fixture: TruecallerFixture
  private let asha: OtherUser
  private let bala: OtherUser

  init() throws {
    fixture = try TruecallerFixture(
      more: """
        [access]
        group = "4242"
        """)
    asha = try OtherUser(4001, groups: "4242", at: fixture.daemon)
    bala = try OtherUser(4002, groups: "4242", at: fixture.daemon)
  }

  @Test("a number that one user has verified with Truecaller needs a code for another user")
  func notForOthers() throws {
    let (ashas, balas) = (fixture.at(try asha.client()), fixture.at(try bala.client()))
    let mine = try ashas.verified()
    // For Asha the number is verified.
    #expect(try ashas.verify()["state"] == "verifiedBefore")
    let flow = try balas.verify()
    #expect(flow["state"] == "otpInitiated", "\(flow.text)")
    #expect(flow.stepType == "enterCode")
    #expect(flow["result"] == .null)
    #expect(try fixture.messages().count == 2)
    #expect(try balas.app.call("account.list")["accounts"] == [])
    #expect(
      try balas.app.reason(of: "token.get", ["provider": "truecaller"]) == "interaction_required")
    #expect(
      try balas.app.reason(
        of: "token.get", ["account": mine["result"]?["account"] ?? .null]) == "not_found")
  }

  @Test("each user has one Truecaller installation, which survives a restart of the daemon")
  func installations() throws {
    let (ashas, balas) = (fixture.at(try asha.client()), fixture.at(try bala.client()))
    _ = try ashas.verify()
    _ = try balas.verify()
    _ = try ashas.verify("9876543211")
    try fixture.daemon.restart()
    _ = try fixture.at(try asha.client()).verify()
    let all = try fixture.installations()
    #expect(all.map { $0["requests"]?.integerValue }.sorted { ($0 ?? 0) < ($1 ?? 0) } == [1, 3])
    let ids = all.compactMap { $0["deviceId"]?.stringValue }
    #expect(Set(ids).count == 2)
    let machine =
      (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8))?
      .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    for id in ids {
      #expect(UUID(uuidString: id) != nil, "\(id)")
      let bare = id.lowercased().replacing("-", with: "")
      #expect(machine.isEmpty || bare != machine.lowercased())
    }
  }

  @Test("the same user on another machine is another Truecaller installation")
  func otherMachine() throws {
    let other = try DaemonUnderTest(config: fixture.sandbox.truecaller())
    try other.setCredential("truecaller-app-key", TruecallerFixture.appKey)
    try fixture.verified()
    let there = TruecallerFixture(fixture.sandbox, other, try other.client())
    #expect(try there.verify()["state"] == "otpInitiated")
    #expect(try fixture.installations().count == 2)
  }
}
