import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Verifications with `usherctl`.
@Suite("GoPay with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayCommandTests {
  private let fixture: GoPayFixture
  private let place: TemporaryDirectory

  init() throws {
    fixture = try GoPayFixture()
    place = try TemporaryDirectory()
  }

  private func arguments(_ receiver: String, _ token: String?, _ more: [String]) -> [String] {
    ["flow", "run", "gopay", "verify", "--no-browser", "--request-id", "req-1"]
      + ["--param", "userCorrelationId=corr-5678", "--param", "credentialReceiver=\(receiver)"]
      + (token.map { ["--param", "token=\($0)"] } ?? []) + more
  }

  /// Starts `usherctl flow run gopay verify` with a pipe as its standard input.
  private func start(
    _ receiver: String, _ token: String?, _ more: String...
  ) throws -> PipedProgram {
    try PipedProgram(
      BuiltProduct.path("usherctl"),
      ["--socket", fixture.daemon.socketPath] + arguments(receiver, token, more), in: place)
  }

  /// Waits until the program prints the URL of a page, and returns it.
  private func page(_ program: PipedProgram, _ part: String) throws -> String {
    var found = ""
    try eventually("usherctl prints the page's URL: \(program.log)") {
      guard program.isRunning else { throw TestError("usherctl has ended: \(program.log)") }
      found =
        program.log.split(whereSeparator: \.isWhitespace).map(String.init)
        .first { $0.hasPrefix("http") && $0.contains(part) } ?? ""
      return !found.isEmpty
    }
    return found
  }

  /// Returns a command that has the partner's backend exchange the code.
  private func exchangeCommand(_ answer: String) throws -> String {
    let script = """
      import json, sys, urllib.request
      asked = json.loads(sys.stdin.readline())
      assert asked["requestId"] == "req-1" and sorted(asked) == ["code", "requestId"], asked
      request = urllib.request.Request(
          "\(fixture.sandbox.base)/_control/gopay/redeem", method="POST",
          data=json.dumps({"authCode": asked["code"]}).encode(),
          headers={"Content-Type": "application/json"})
      token = json.load(urllib.request.urlopen(request))["token"]
      print(json.dumps(\(answer)))
      """
    return "/usr/bin/python3 \(try place.write(script, to: "exchange.py"))"
  }

  @Test("usherctl flow run gopay verify passes the code to --exchange-command by standard input")
  func byCommand() throws {
    let command = try exchangeCommand(#"{"userCorrelationId": "corr-5678", "token": token}"#)
    let program = try start("exchange", "alice-short-term", "--exchange-command", command)
    try GoPayFixture.photograph(at: page(program, "/capture/pages/"))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(program.output.contains("succeeded"))
    let id = try fixture.submissions().first?["submissionId"]?.stringValue ?? ""
    #expect(program.output.contains(id) && !id.isEmpty, "\(program.output)")
    let token = try fixture.daemon.usherctl(["token", "get", "gopay"])
    #expect(token.status == 0 && token.output.hasPrefix("glt_"), "\(token.errors)")
    #expect(!(program.log + program.output).contains("gac_"))
  }

  @Test("usherctl flow run gopay verify prompts for the exchange; --json prints one line")
  func byPrompt() throws {
    let program = try start("exchange", nil, "--json")
    try GoPayPerson.logIn(at: page(program, "/get-auth-code"), fixture.sandbox)
    try eventually("usherctl asks for the backend's answer: \(program.log)") {
      program.log.contains("the backend's answer as a JSON object")
    }
    let code = try #require(program.log.firstMatch(of: /gac_[A-Za-z0-9_\-]+/)?.0)
    _ = try fixture.redeem(String(code))
    try program.type("that is no JSON")
    try eventually("usherctl asks again for the backend's answer: \(program.log)") {
      program.log.contains("invalid answer")
    }
    try program.type(#"{"userCorrelationId": "corr-5678"}"#)
    try GoPayFixture.photograph(at: page(program, "/capture/pages/"))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    let lines = program.output.split(separator: "\n")
    let flow = try JSONValue(parsing: String(lines.first ?? ""))["flow"]
    #expect(lines.count == 1 && flow?["status"] == "succeeded", "\(program.output)")
    #expect(flow?["state"] == "submitted" && flow?["requestId"] == "req-1")
  }

  @Test("usherctl flow run gopay verify succeeds without an exchange")
  func without() throws {
    let program = try start("none", "long-term-token")
    try GoPayFixture.photograph(at: page(program, "/capture/pages/"))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(program.output.contains("sub_"), "\(program.output)")
  }

  @Test(
    "usherctl flow run gopay verify exits with status 3 and the GPE code if the flow fails",
    arguments: [
      (["none", "expired-token"], "GPE-2202"), (["exchange", "not-whitelisted-token"], "GPE-2204"),
      (["none"], "GPE-2206"),
    ])
  func failures(start: [String], code: String) throws {
    let end = try fixture.daemon.usherctl(
      arguments(start[0], start.count > 1 ? start[1] : nil, []))
    #expect(end.status == 3, "\(end.errors)")
    #expect(end.errors.contains("gopay said: \(code)") && end.output.isEmpty, "\(end.errors)")
    let json = try fixture.daemon.usherctl(
      arguments(start[0], start.count > 1 ? start[1] : nil, ["--request-id", "req-2", "--json"]))
    #expect(json.status == 3)
    #expect(try JSONValue(parsing: json.output)["flow"]?.failure[1] == .some(code))
  }

  @Test("a typed 'failed REASON' or a failing exchange command ends GoPay verify with GPE-2208")
  func exchangeFails() throws {
    let program = try start("exchange", "alice-short-term")
    try eventually("usherctl asks for the backend's answer: \(program.log)") {
      program.log.contains("the backend's answer as a JSON object")
    }
    try program.type("failed no such customer")
    #expect(try program.exitStatus() == 3)
    #expect(program.log.contains("no such customer"), "\(program.log)")
    #expect(program.log.contains("gopay said: GPE-2208"))
    let end = try fixture.daemon.usherctl(
      arguments(
        "exchange", "alice-short-term",
        ["--request-id", UUID().uuidString, "--exchange-command", "exit 7"]))
    #expect(end.status == 3 && end.errors.contains("status 7"), "\(end.errors)")
    #expect(end.errors.contains("GPE-2208"), "\(end.errors)")
  }

  @Test("usherctl exits with status 1 and names the GoPay flow if its request id was used before")
  func reused() throws {
    let done = try fixture.verified(requestID: "req-1")
    let end = try fixture.daemon.usherctl(arguments("none", "alice-long-term", []))
    #expect(end.status == 1, "\(end.errors)")
    #expect(end.errors.contains(done["id"]?.stringValue ?? "none"), "\(end.errors)")
  }

  @Test("usherctl account show prints GoPay's verdict and no linking token")
  func verdict() throws {
    let end = try fixture.verified()
    try fixture.decide(end.submissionID, "COMPLETED", "VALID", push: false)
    #expect(try fixture.push(end.submissionID) == [200])
    let account = end["result"]?["account"]?.stringValue ?? ""
    let shown = try fixture.daemon.usherctl(["account", "show", account, "--json"])
    #expect(shown.status == 0, "\(shown.errors)")
    #expect(shown.output.contains("COMPLETED") && shown.output.contains("VALID"))
    #expect(!shown.output.contains("alice-long-term"))
  }
}
