import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Passes every secret of a verification through the daemon, then searches files, logs and replies
/// for them.
@Suite("Secrets in Truecaller verifications", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerCanaryTests {
  /// The sandbox issues these tokens instead of its own.
  private static let verificationToken = "canary-verification-token-7f3a"
  private static let accessToken = "canary-access-token-91bc"
  private static let name = "Canaryfirstname"
  private static let lastName = "Canarylastname"
  /// National numbers; the search also finds them behind a calling code.
  private static let numbers = ["9876543210", "9876543211", "9876543212", "9876543213"]

  private let fixture: TruecallerFixture
  private let search: CanarySearch

  init() throws {
    fixture = try TruecallerFixture(validation: "v2_8", logLevel: "trace")
    try fixture.set(["numberDailyCap": 1000, "installationDailyCap": 1000])
    search = try CanarySearch(fixture.daemon)
  }

  @Test(
    "no Truecaller code, token or app key is in a file, log or reply, and no number in a failure")
  func everywhere() throws {
    let long = try troubles()
    try search.recordEvents()
    let people = [Self.name, Self.lastName] + Self.numbers
    let troubled = Data(search.told.joined(separator: "\n").utf8)
    // Only a verification that succeeds returns number and name.
    search.expectNone(
      of: people, in: [("replies and events of failed verifications", troubled)],
      "after failed verifications")
    try refusedNames(people)
    let tokens = try success()
    let codes = try fixture.messages().compactMap { $0["code"]?.stringValue } + [long]
    #expect(codes.count > 10 && tokens.count == 2)
    try search.recordLists()
    try search.expectNone(
      of: codes + tokens + [Self.verificationToken, Self.accessToken, TruecallerFixture.appKey],
      people: people, found: ["otpInitiated", "wrong_code", Self.name, "98765432"])
  }

  /// Returns a refusal that echoes code, number and names.
  private func echo(_ code: String, _ number: String) -> JSONValue {
    let text = "\(code) is wrong for +91\(number), \(Self.name) \(Self.lastName)"
    return ["code": .string("BAD-\(code)-\(number)-\(Self.name)"), "message": .string(text)]
  }

  private func enter(_ code: String, to flow: JSONValue) throws -> JSONValue {
    search.record(try fixture.enter(code, Self.name, Self.lastName, to: flow))
  }

  /// Runs failures of each call while the daemon holds secrets.
  ///
  /// - Returns: A code that was refused because it is too long.
  private func troubles() throws -> String {
    let number = Self.numbers[0]
    var flow = try fixture.verify(number)
    let long = "918273645546372819"
    try search.recordRefusal(of: TruecallerFixture.entry(long), to: flow, by: fixture.app)
    for fault: JSONValue in [["reset": true], ["brokenJSON": true]] {
      try fixture.spoil("verify", fault, times: 1)
      flow = try enter(fixture.code(), to: flow)
    }
    for status: Int64 in [200, 400, 401, 429] {
      let fault: JSONValue = ["status": .integer(status), "body": echo("000000", number)]
      try fixture.spoil("create", fault, times: 1)
      search.record(try fixture.verify(number))
    }
    for (endpoint, status) in [
      ("verify", 200), ("verify", 401), ("verify", 410), ("verify", 422), ("verify", 429),
      ("verify", 503), ("validate", 404), ("profile", 404),
    ] as [(String, Int64)] {
      flow = try fixture.verify(number)
      let code = try fixture.code()
      let fault: JSONValue = ["status": .integer(status), "body": echo(code, number)]
      try fixture.spoil(endpoint, fault, times: 1)
      flow = try enter(code, to: flow)
      #expect(flow["status"] == "failed" || flow["problem"] != .null, "\(endpoint) \(status)")
      try keptToken(after: endpoint, echo(code, number), number)
      try fixture.sandbox.control("DELETE", "truecaller/verified")
      try fixture.sandbox.control("DELETE", "faults")
    }
    // The canary tokens in these answers must not be passed on.
    try fixture.set(["createReply": ["verificationToken": .string(Self.verificationToken)]])
    _ = try enter(fixture.code(), to: search.record(fixture.verify(Self.numbers[1])))
    try fixture.set([
      "createReply": [:], "verifyReply": ["accessToken": .string(Self.accessToken)],
    ])
    _ = try enter(fixture.code(), to: search.record(fixture.verify(Self.numbers[2])))
    try fixture.set(["verifyReply": [:]])
    return long
  }

  /// Lets the profile fail with the kept token and with the next one, then forgets the account.
  private func keptToken(after endpoint: String, _ echo: JSONValue, _ number: String) throws {
    let accounts = try fixture.accounts()
    // A verified number keeps its account, even if the profile cannot be read.
    #expect(accounts.count == (endpoint == "profile" ? 1 : 0), "\(endpoint)")
    guard let account = accounts.first else { return }
    #expect(account["attributes"]?["profilePending"] == true, "\(account.text)")
    try fixture.spoil("profile", ["status": 404, "body": echo], times: 2)
    let end = search.record(try fixture.verify(number))
    #expect(end["status"] == "failed", "\(end.text)")
    search.record(try fixture.app.call("account.forget", ["account": account["id"] ?? .null]))
  }

  /// Verifies a number twice while the name is refused with a text that repeats what was typed.
  private func refusedNames(_ people: [String]) throws {
    for status: Int64 in [200, 422] {
      let number = Self.numbers[0]
      let flow = try fixture.verify(number)
      let code = try fixture.code()
      let fault: JSONValue = ["status": .integer(status), "body": echo(code, number)]
      try fixture.spoil("update", fault, times: 1)
      let end = try enter(code, to: flow)
      #expect(end["status"] == "succeeded", "\(end.text)")
      let problem = try #require(end["result"]?["nameProblem"])
      search.expectNone(
        of: people + [code], in: [("the problem with a name", Data(problem.text.utf8))],
        "after a refused name")
      let account = end["result"]?["account"] ?? .null
      search.record(try fixture.app.call("account.forget", ["account": account]))
      try fixture.sandbox.control("DELETE", "truecaller/verified")
      try fixture.sandbox.control("DELETE", "faults")
    }
  }

  /// Verifies a number by SMS, then again without; returns the access tokens.
  private func success() throws -> [String] {
    try (0..<2).map { _ in
      var end = search.record(try fixture.verify(Self.numbers[3]))
      if end["status"] == "active" { end = try enter(fixture.code(), to: end) }
      #expect(end["status"] == "succeeded", "\(end.text)")
      let token = try fixture.app.call("token.get", ["provider": "truecaller"])
      return token["accessToken"]?.stringValue ?? ""
    }
  }
}
