import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// All result codes that the documentation has, as the real daemon tells them.
@Suite("BSA: the table of rtCodes", .mayBlock, .timeLimit(.minutes(10)))
struct FaultCodeTests {
  private struct Row: Sendable {
    let code: Int64
    let name: String
    let meaning: String
    let retry: Bool
  }

  /// The rows of the page, § All rtCodes.
  private static func rows() throws -> [Row] {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Sources/UsherDaemon/Usher.docc/Providers/BSA.md")
    let text = try String(contentsOf: page.standardized, encoding: .utf8)
    let table = text.components(separatedBy: "## All rtCodes").last ?? ""
    return table.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 4, let code = Int64(cells[0]) else { return nil }
      return Row(code: code, name: cells[1], meaning: cells[2], retry: cells[3] == "yes")
    }
  }

  @Test("each code ends a flow with its number, its name, our sentence and its retry flag")
  func table() throws {
    let scene = try BSAScene()
    let rows = try Self.rows().filter { $0.code != 0 }
    #expect(rows.count > 70)
    for row in rows {
      try scene.answers("mail", ["rtCode": .integer(row.code), "rtMsg": "canary-of-the-vendor"])
      let flow = try scene.verifyContact()
      let reason =
        switch row.code {
        case 5000, 5001: "expired"
        case 5011, 5018: "denied"
        default: "provider_rejected"
        }
      #expect(flow.failure == [reason, "\(row.code)", nil], "\(flow.text)")
      #expect(flow["failure"]?["provider"]?["title"] == .string(row.name), "\(row.code)")
      // A number that is not sent was never handed in.
      guard row.code != 3006 else {
        let message = "the provider sends no more numbers to this contact just now"
        #expect(flow["failure"]?["message"] == .string(message))
        #expect(flow["failure"]?["retryable"] == true)
        continue
      }
      #expect(flow["failure"]?["message"] == .string(row.meaning), "\(row.code)")
      // What a person gave up, or was late for, can be begun anew.
      #expect(
        flow["failure"]?["retryable"] == .bool(row.retry || reason != "provider_rejected"),
        "\(row.code)")
      #expect(!flow.text.contains("canary-of-the-vendor"))
    }
    #expect(try scene.messages() == [])
  }

  @Test(
    "codes that nobody published are refusals without a name, not retryable",
    arguments: [-2_147_483_648, -1, 1, 999, 2018, 4711, 9011, 2_147_483_647] as [Int64])
  func unknown(code: Int64) throws {
    let scene = try BSAScene()
    try scene.answers("mail", ["rtCode": .integer(code)])
    let flow = try scene.verifyContact()
    #expect(flow.failure == ["provider_rejected", "\(code)", nil], "\(flow.text)")
    #expect((flow["failure"]?["provider"]?["title"] ?? .null) == .null)
    #expect(flow["failure"]?["retryable"] == false)
    #expect(
      flow["failure"]?["message"] == "the provider refuses for a reason that has no name")
  }

  @Test("whatever HTTP status refusals have here", arguments: [200, 400, 401, 429, 500, 503])
  func status(status: Int64) throws {
    let scene = try BSAScene()
    try scene.registered()
    try scene.set(["refusalStatus": .integer(status)])
    let taken = try scene.app.call(
      "registration.checkUserKey", ["provider": "bsa", "userKey": "alice.01"])
    #expect(taken["available"] == false)
    let flow = try scene.asked(scene.authenticate("qr", ["qrId": "qr_nobody_has_it"]))
    let end = try scene.app.finished(scene.prove(flow))
    #expect(end.failure == ["provider_rejected", "5023", nil], "\(end.text)")
  }

  @Test("a code of the sign-in's calls keeps its meaning: 5015 may be tried again, 5010 may not")
  func otherCalls() throws {
    let scene = try BSAScene()
    try scene.registered()
    for (endpoint, code, retry) in [
      ("authExist", 2006, false), ("auth", 5015, true), ("authComplete", 5010, false),
      ("authResult", 2003, false), ("authComplete", 5005, false), ("auth", 2006, false),
    ] as [(String, Int64, Bool)] {
      try scene.sandbox.control("POST", "bsa/expire", ["what": "signIns"])
      var flow = try scene.standing(scene.authenticate("push"), at: "pending")
      try scene.answers(endpoint, ["rtCode": .integer(code)])
      _ = try scene.visit()
      if endpoint != "authExist" { flow = try scene.prove(scene.asked(flow)) }
      let end = try scene.app.finished(flow)
      #expect(end.failure == ["provider_rejected", "\(code)", nil], "\(end.text)")
      #expect(end["failure"]?["retryable"] == .bool(retry), "\(endpoint) \(code)")
    }
  }
}

/// How often a user may ask who is registered.
@Suite("BSA: the limits of registration.*", .mayBlock, .timeLimit(.minutes(10)))
struct FaultLimitTests {
  /// One with the limit that holds where nothing is said.
  private func scene() throws -> BSAScene {
    let scene = try BSAScene()
    let file = scene.daemon.place.file("usherd.toml")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let line = "registration_checks_per_minute = 10000"
    guard text.contains(line) else { throw TestTrouble("no limit to take away: \(text)") }
    try scene.daemon.place.write(text.replacing(line, with: ""), to: "usherd.toml")
    return try scene.restarted()
  }

  @Test("thirty a minute and user, of both calls together; the next is refused, with the time")
  func thirty() throws {
    let scene = try scene()
    let calls: [(String, JSONValue)] = [
      ("registration.checkUserKey", ["provider": "bsa", "userKey": "alice.01"]),
      (
        "registration.checkDuplicate",
        ["provider": "bsa", "verifyType": "email", "verifyData": "alice@example.com"]
      ),
    ]
    // The bucket fills by one in two seconds: slow answers must not be mistaken for more.
    let begun = ContinuousClock.now
    var answered = 0
    var refusal: JSONValue?
    while refusal == nil, answered < 100 {
      let (method, params) = calls[answered % 2]
      let reply = try scene.app.reply(to: method, params)
      if reply["result"] == nil { refusal = reply["error"]?["data"] } else { answered += 1 }
    }
    let seconds = Int((ContinuousClock.now - begun).components.seconds)
    #expect((30...30 + seconds / 2 + 1).contains(answered), "\(answered) in \(seconds) s")
    #expect(refusal?["reason"] == "rate_limited", "\(refusal?.text ?? "none")")
    #expect(refusal?["limit"] == "registration_checks_per_minute")
    let pause = refusal?["retryAfterMs"]?.integerValue ?? 0
    #expect((1...2000).contains(pause))
    let other = try scene.again()
    let again = try other.app.reply(to: calls[1].0, calls[1].1)
    #expect(again["result"] != nil || again["error"]?["data"]?["reason"] == "rate_limited")
    // What is wrong in itself costs nothing, and asks nobody.
    let asked = try scene.requests("idCheck")
    #expect(
      try scene.app.reason(
        of: "registration.checkUserKey", ["provider": "bsa", "userKey": "a"]) == "invalid_params")
    #expect(try scene.requests("idCheck") == asked)
    try waitUntil(Date(timeIntervalSinceNow: Double(pause) / 1000 + 2.1))
    #expect(try scene.app.reply(to: calls[0].0, calls[0].1)["result"] != nil)
  }

  @Test("flows and codes are not counted there")
  func others() throws {
    let scene = try scene()
    try scene.registered()
    for _ in 0..<40 { _ = try scene.code() }
    #expect(
      try scene.app.call(
        "registration.checkUserKey", ["provider": "bsa", "userKey": "bob.02"])["available"] == true)
  }
}
