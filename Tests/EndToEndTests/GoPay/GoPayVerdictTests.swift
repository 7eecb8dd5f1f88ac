import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The verdict by the provider's callback.
@Suite("GoPay's verdict, brought by a callback", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayCallbackTests {
  private let scene: GoPayScene

  init() throws {
    scene = try GoPayScene()
    try scene.set(["callbackUrl": .string(scene.callbackURL)])
  }

  /// What the callback says, as its sender writes it.
  private func body(_ end: JSONValue, _ more: JSONValue = [:]) -> JSONValue {
    let body: JSONValue = [
      "submissionId": .string(end.submissionID),
      "partnerSessionId": end["requestId"] ?? .null, "status": "COMPLETED", "result": "VALID",
    ]
    return body + more
  }

  @Test("right, after the flow has ended: the account knows, its owner is told, and the flow stays")
  func right() throws {
    let listener = try GoPayListener(scene.daemon.client(), topics: ["kyc"])
    let end = try scene.verified()
    #expect(try scene.decide(end.submissionID, "COMPLETED", "VALID", reason: "R-1") == [200])
    #expect(try listener.verdicts(until: "completed") == ["submitted", "completed"])
    let kyc = try scene.kyc(of: end)
    #expect(kyc["status"] == "COMPLETED" && kyc["result"] == "VALID", "\(kyc.text)")
    #expect(kyc["reasonCode"] == "R-1" && kyc["requestId"] == end["requestId"])
    #expect(kyc["submissionId"] == .string(end.submissionID))
    #expect(kyc["submittedAt"] != kyc["updatedAt"])
    #expect(try scene.flow(end) == end)
  }

  @Test("twice is 200 twice, and told once")
  func twice() throws {
    let listener = try GoPayListener(scene.daemon.client(), topics: ["kyc"])
    let end = try scene.verified()
    try scene.set(["callbackTimes": 3])
    #expect(
      try scene.decide(end.submissionID, "COMPLETED", "INVALID") == [200, 200, 200])
    try listener.verdicts(until: "completed")
    let kyc = try scene.kyc(of: end)
    #expect(try scene.call(body(end)).status == 200)
    #expect(try scene.kyc(of: end) == kyc && kyc["result"] == "INVALID")
    // The next that is told is of another submission.
    try scene.verified("bob-long-term")
    #expect(try listener.verdicts(until: "submitted") == ["submitted"])
  }

  @Test("ERROR may yet become COMPLETED, which is final")
  func errorFirst() throws {
    let listener = try GoPayListener(scene.daemon.client(), topics: ["kyc"])
    let end = try scene.verified()
    #expect(try scene.decide(end.submissionID, "ERROR", reason: "E-7") == [200])
    let failed = try scene.kyc(of: end)
    #expect(failed["status"] == "ERROR" && failed["reasonCode"] == "E-7")
    #expect(failed["result"] == .null)
    #expect(try scene.decide(end.submissionID, "COMPLETED", "VALID") == [200])
    #expect(try scene.call(body(end, ["status": "ERROR", "result": .null])).status == 200)
    let kyc = try scene.kyc(of: end)
    #expect(kyc["status"] == "COMPLETED" && kyc["result"] == "VALID")
    #expect(kyc["reasonCode"] == .null)
    #expect(
      try listener.verdicts(until: "completed") == ["submitted", "error", "completed"])
  }

  @Test("before the flow has ended: it ends with the verdict")
  func early() throws {
    // The capture host is late to notice.
    try scene.set(["submissionReply": ["status": "CREATED"]])
    let flow = try scene.atCapture()
    try GoPayScene.photograph(at: flow.url)
    let id = try #require(try scene.submissions().first?["submissionId"]?.stringValue)
    #expect(try scene.decide(id, "COMPLETED", "VALID") == [200])
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded" && end.submissionID == id, "\(end.text)")
    #expect(end["result"]?["metadata"] == ["status": "COMPLETED", "result": "VALID"])
    #expect(try scene.kyc(of: end)["result"] == "VALID")
    #expect(try scene.push(id) == [200])
  }

  @Test("before the end of an account's flow, its linking token is as good as the credential")
  func earlyForAccount() throws {
    let first = try scene.verified()
    try scene.set(["submissionReply": ["status": "CREATED"]])
    let flow = try scene.verify("none", more: ["account": first["result"]?["account"] ?? .null])
    try GoPayScene.photograph(at: flow.url)
    let id = try #require(try scene.submissions().last?["submissionId"]?.stringValue)
    #expect(id != first.submissionID)
    #expect(try scene.push(id, ["authorization": "otherPerson", "times": 2]) == [400, 400])
    try scene.decide(id, "COMPLETED", "VALID", push: false)
    #expect(try scene.push(id, ["authorization": "otherPerson"]) == [401])
    #expect(try scene.flow(flow)["status"] == "active")
    #expect(try scene.push(id, ["value": "alice-long-term"]) == [200])
    let end = try scene.app.finished(flow)
    #expect(end.submissionID == id && end["result"]?["metadata"]?["result"] == "VALID")
    #expect(try scene.kyc(of: end)["requestId"] == end["requestId"])
  }

  @Test("after a restart it is taken as before")
  func restarted() throws {
    let end = try scene.verified()
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.decide(end.submissionID, "COMPLETED", "VALID") == [200])
    #expect(try after.kyc(of: end)["result"] == "VALID")
    try scene.daemon.restart()
    #expect(try scene.again().kyc(of: end)["result"] == "VALID")
  }

  @Test("a wrong value is 401 and changes nothing")
  func wrongValue() throws {
    let end = try scene.verified()
    try scene.decide(end.submissionID, "COMPLETED", "VALID", push: false)
    for kind in ["wrong", "absent", "bearer", "otherPerson"] {
      #expect(
        try scene.push(end.submissionID, ["authorization": .string(kind)]) == [401], "\(kind)")
    }
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
    #expect(try scene.push(end.submissionID, ["authorization": "credential"]) == [200])
    #expect(try scene.kyc(of: end)["status"] == "COMPLETED")
  }

  @Test("other wrong values: off by a character, empty, doubled, another's")
  func otherValues() throws {
    let end = try scene.verified()
    let right = GoPayScene.callbackCredential
    let values = [
      String(right.dropLast()), right + "x", "Bearer \(right)", "x", right.uppercased(),
    ]
    for value in values {
      let answer = try scene.call(body(end), authorization: value)
      #expect(answer.status == 401, "\(value)")
      #expect(answer.body["success"] == false)
      #expect(answer.body["errors"]?[0]?["code"] == 1401)
      #expect(answer.body["errors"]?[0]?["entity"] == "USHERD")
    }
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
  }

  @Test("for an unknown id: who has the credential is told so, who has not learns nothing")
  func unknownID() throws {
    let end = try scene.verified()
    let stray = body(end, ["partnerSessionId": "never-heard-of-it"])
    let known = try scene.call(stray)
    #expect(known.status == 404 && known.body["errors"]?[0]?["code"] == 1519, "\(known.body.text)")
    let unknown = try scene.call(stray, authorization: "alice-long-term")
    let wrong = try scene.call(body(end), authorization: "wrong")
    #expect(unknown.status == 401 && unknown.body == wrong.body)
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
  }

  @Test("for another submission than the flow's: 409 for those who may know")
  func otherSubmission() throws {
    let end = try scene.verified()
    let other = body(end, ["submissionId": "sub_other"])
    for value in [GoPayScene.callbackCredential, "alice-long-term"] {
      let answer = try scene.call(other, authorization: value)
      #expect(answer.status == 409 && answer.body["errors"]?[0]?["code"] == 1409)
    }
    #expect(try scene.call(other, authorization: "bob-long-term").status == 401)
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
    let open = try scene.atCapture("bob-long-term")
    #expect(
      try scene.call(body(open, ["submissionId": "sub_other"]), authorization: "bob-long-term")
        .status == 409)
    #expect(try scene.flow(open) == open)
  }

  @Test("for a flow that was cancelled or has failed: 200 by the credential, and nothing changes")
  func cancelled() throws {
    let flow = try scene.atCapture()
    try GoPayScene.photograph(at: flow.url, "card")
    let id = try #require(try scene.submissions().first?["submissionId"])
    let end = try scene.cancel(flow)
    let callback = body(flow, ["submissionId": id])
    #expect(try scene.call(callback).status == 200)
    #expect(try scene.call(callback, authorization: "alice-long-term").status == 401)
    #expect(try scene.flow(flow) == end)
    #expect(try scene.app.call("account.list")["accounts"] == [])
    let failed = try scene.handIn(scene.atCapture(), action: "CAMERA")
    #expect(try scene.call(body(failed, ["submissionId": id])).status == 200)
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("what cannot be read is 400, with what is missing or wrong as its cause")
  func unreadable() throws {
    let end = try scene.verified()
    let bad: [(JSONValue, String)] = [
      ([], "JSON object"), (body(end, ["partnerSessionId": .null]), "partnerSessionId"),
      (body(end, ["submissionId": 7]), "submissionId"), (body(end, ["status": "FINE"]), "status"),
      (body(end, ["status": "IN_PROGRESS"]), "status"), (body(end, ["result": "MAYBE"]), "result"),
      (body(end, ["result": .null]), "result"),
    ]
    for (callback, cause) in bad {
      let answer = try scene.call(callback)
      #expect(answer.status == 400 && answer.body["errors"]?[0]?["code"] == 1500)
      let said = answer.body["errors"]?[0]?["cause"]?.stringValue ?? ""
      #expect(said.contains(cause), "\(callback.text): \(said)")
    }
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
    // More than is known of is no fault.
    #expect(try scene.call(body(end, ["documents": [["url": "x"]]])).status == 200)
    #expect(try !scene.account(of: end).text.contains("documents"))
  }

  @Test("another path, another method, too much")
  func elsewhere() throws {
    let end = try scene.verified()
    #expect(try scene.call(body(end), path: "/").status == 404)
    #expect(try scene.call(body(end), path: "/v1/callback/partner/x").status == 404)
    for method in ["POST", "GET", "DELETE"] {
      #expect(try scene.call(body(end), method: method).status == 405)
    }
    let large = String(repeating: "x", count: 70_000)
    #expect(try scene.call(body(end, ["more": .string(large)])).status == 413)
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
    #expect(try scene.call(body(end), authorization: "alice-long-term").status == 200)
  }

  @Test("without an address nobody listens", .ownProcess)
  func off() throws {
    let daemon = try DaemonUnderTest(config: scene.sandbox.gopay(.app))
    let table = try run("/bin/cat", ["/proc/\(daemon.pid)/net/tcp"]).output
    let sockets = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd")
      .compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(daemon.pid)/fd/\($0)")
      }
    let own = Set(
      sockets.compactMap { $0.firstMatch(of: /socket:\[([0-9]+)\]/).map { String($0.1) } })
    let lines = table.split(separator: "\n").map { line in
      line.split(separator: " ").map { String($0) }
    }
    // State LISTEN, and the socket's inode.
    let listening = lines.filter { $0.count > 9 && $0[3] == "0A" && own.contains($0[9]) }
    #expect(listening.isEmpty, "\(listening)")
    #expect(!own.isEmpty)
  }
}

@Suite(
  "GoPay's verdict: two users with the same requestId", .mayBlock,
  .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can be two users; run this as root"))
struct GoPayTwoUsersTests {
  @Test("each one's linking token is for his own; the other hears and learns nothing")
  func sameRequestID() throws {
    let scene = try GoPayScene(
      more: """
        [access]
        group = "4242"
        """)
    try scene.set(["callbackUrl": .string(scene.callbackURL)])
    let users = try [4001, 4002].map { try OtherUser($0, groups: "4242", at: scene.daemon) }
    let (alice, bob) = (scene.at(try users[0].client()), scene.at(try users[1].client()))
    let listener = try GoPayListener(users[1].client(), topics: ["kyc"])
    let hers = try alice.verified("alice-long-term", requestID: "same")
    let his = try bob.verified("bob-long-term", requestID: "same")
    try listener.verdicts(until: "submitted")
    #expect(try scene.decide(hers.submissionID, "COMPLETED", "VALID") == [200])
    #expect(try alice.kyc(of: hers)["result"] == "VALID")
    #expect(try bob.kyc(of: his)["status"] == "SUBMITTED")
    #expect(try scene.decide(his.submissionID, "COMPLETED", "INVALID") == [200])
    #expect(try bob.kyc(of: his)["result"] == "INVALID")
    #expect(try alice.kyc(of: hers)["result"] == "VALID")
    #expect(try listener.verdicts(until: "completed") == ["completed"])
    #expect(try bob.app.call("account.list")["accounts"]?.arrayValue?.count == 1)
    withExtendedLifetime(users) {}
  }
}

/// The verdict by asking for it: first after five seconds.
@Suite("GoPay's verdict, asked for", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayPullTests {
  @Test("it is asked for after 5 s and then after 10 s; each change is told, documents are dropped")
  func pull() async throws {
    try await aside {
      let clock = MovableClock()
      let scene = try GoPayScene(clock: clock)
      let listener = try GoPayListener(scene.daemon.client(), topics: ["kyc"])
      let end = try scene.verified()
      try scene.decide(end.submissionID, "IN_PROGRESS")
      try eventually("it is asked for") {
        try clock.advance(by: 1)
        return try scene.requests("currentSubmission") == 1
      }
      #expect(try listener.verdicts(until: "in_progress") == ["submitted", "in_progress"])
      #expect(try scene.requests("currentSubmission") == 1)
      try scene.decide(end.submissionID, "COMPLETED", "INVALID", reason: "R-9", push: false)
      try eventually("it is asked for again") {
        try clock.advance(by: 1)
        return try scene.requests("currentSubmission") == 2
      }
      #expect(try listener.verdicts(until: "completed") == ["completed"])
      let account = try scene.account(of: end)
      let kyc = try #require(account["attributes"]?["kyc"])
      #expect(kyc["status"] == "COMPLETED" && kyc["result"] == "INVALID", "\(kyc.text)")
      #expect(kyc["reasonCode"] == "R-9")
      for word in ["documents", "KTP", "nik", "3171000000000000", "birthDate"] {
        #expect(!account.text.contains(word), "\(word)")
      }
      let apart = try Self.seconds(kyc["updatedAt"]) - Self.seconds(kyc["submittedAt"])
      #expect(apart >= 10, "asked after \(apart) s")
    }
  }

  @Test("a restart changes nothing of that; an answer about another submission is none")
  func restart() async throws {
    try await aside {
      let clock = MovableClock()
      let scene = try GoPayScene(clock: clock)
      let end = try scene.verified()
      try scene.decide(end.submissionID, "COMPLETED", "VALID", push: false)
      try scene.set(["currentReply": ["submissionId": "sub_other"]])
      try scene.daemon.restart()
      let after = try scene.again()
      let listener = try GoPayListener(after.app, topics: ["kyc"])
      try eventually("it is asked for") {
        try clock.advance(by: 1)
        return try scene.requests("currentSubmission") == 1
      }
      try scene.set(["currentReply": [:]])
      try eventually("it is asked for again") {
        try clock.advance(by: 1)
        return try scene.requests("currentSubmission") == 2
      }
      #expect(try listener.verdicts(until: "completed") == ["completed"])
      #expect(try scene.again().kyc(of: end)["result"] == "VALID")
    }
  }

  @Test("an account without a linking token is not asked about; its callback needs the credential")
  func withoutToken() async throws {
    try await aside {
      let scene = try GoPayScene()
      let flow = try scene.verify()
      try GoPayPerson.logIn(at: flow.url, scene.sandbox)
      let asked = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
      let link = try scene.redeem(asked.authCode)
      let end = try scene.handIn(scene.submit(GoPayScene.exchanged(), to: asked))
      let other = try scene.verified("bob-long-term", person: "corr-bob")
      try eventually("the other one is asked about") {
        try scene.requests("currentSubmission") == 1
      }
      try scene.decide(end.submissionID, "COMPLETED", "VALID", push: false)
      #expect(try scene.push(end.submissionID, ["value": .string(link)]) == [401])
      #expect(try scene.push(end.submissionID, ["authorization": "credential"]) == [200])
      #expect(try scene.kyc(of: end)["result"] == "VALID")
      #expect(other["status"] == "succeeded")
    }
  }

  private static func seconds(_ time: JSONValue?) throws -> Double {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return try style.parse(time?.stringValue ?? "").timeIntervalSince1970
  }
}
