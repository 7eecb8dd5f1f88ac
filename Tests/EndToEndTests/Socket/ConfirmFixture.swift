import Foundation
import JSONRPC
import UsherTestKit

/// A daemon with rules that ask for a person, the programs they mean, and an account of the user's.
///
/// `kiosk` and `till` have to be agreed to; `desk` answers for `kiosk`, hears of events, and may do nothing else.
struct ConfirmFixture {
  static let passcode = "canary-passcode-4711"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let account: JSONValue
  private let place: TemporaryDirectory
  private let programs: [String: NamedProgram]

  /// - Parameters:
  ///   - limits: Lines of `[limits]`.
  ///   - rules: More rules, after those.
  init(
    limits: String = "", rules: (TemporaryDirectory) throws -> String = { _ in "" },
    clock: MovableClock? = nil
  ) throws {
    let place = try TemporaryDirectory()
    sandbox = try SandboxUnderTest()
    let asking = try ["kiosk", "till"].map {
      try NamedProgram.rule($0, in: place) + "confirm = true\n"
    }
    let desk = try NamedProgram.rule("desk", in: place)
      .replacingOccurrences(of: #"allow = ["*"]"#, with: #"allow = ["events.*"]"#)
    daemon = try DaemonUnderTest(
      config: """
        [access]
        group = "4242"
        [limits]
        flow_starts_per_minute = 10000
        \(limits)

        \(sandbox.provider())
        \(asking.joined(separator: "\n"))
        \(desk)confirms = ["kiosk"]

        \(try rules(place))
        """,
      clock: clock, messageBus: FprintdUnderTest.noBus, at: place)
    var programs: [String: NamedProgram] = [:]
    for name in ["kiosk", "till", "desk"] {
      programs[name] = try NamedProgram(name, in: place, at: daemon)
    }
    self.place = place
    self.programs = programs
    account = try daemon.client().signIn()["result"]?["account"] ?? .null
  }

  /// A new connection of a program's; `nil`: of one that no rule matches.
  func client(_ name: String? = nil) throws -> RawClient {
    guard let name else { return try daemon.client() }
    guard let program = programs[name] else { throw TestError("there is no \(name)") }
    return try program.client()
  }

  func setPasscode() throws {
    _ = try daemon.client().call("localAuth.setPasscode", ["new": .string(Self.passcode)])
  }
}

extension RawClient {
  /// The question that a call has to wait for.
  func question(
    of method: String = "token.get", _ params: JSONValue = ["provider": "demo"]
  ) throws -> JSONValue {
    let error = try error(of: method, params)
    guard error["code"] == 1101, error["data"]?["reason"] == "interaction_required",
      error["data"]?["retryable"] == true, let id = error["data"]?["confirmation"]
    else { throw TestError("\(method) does not wait for a person: \(error.text)") }
    return id
  }

  /// `result`, or the reason why there is none.
  func outcome(
    of method: String = "token.get", _ params: JSONValue = ["provider": "demo"]
  ) throws -> String {
    let reply = try reply(to: method, params)
    return reply["result"] == nil ? reply.replyReason ?? "none" : "result"
  }

  /// - Returns: `result`, or the reason why it is not taken.
  func answer(
    _ question: JSONValue, _ allow: Bool = true, _ remember: JSONValue? = nil
  ) throws -> String {
    var params: JSONValue = ["confirmation": question, "allow": .bool(allow)]
    params["remember"] = remember
    return try outcome(of: "confirm.answer", params)
  }

  func questions() throws -> [JSONValue] {
    try call("confirm.list")["questions"]?.arrayValue ?? []
  }

  /// The person proves to be there, in a flow of this client's.
  func prove() throws {
    let start = try startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "agree"])
    let end = try flow(
      in: call(
        "flow.submit",
        [
          "flow": start["id"] ?? .null, "revision": start["revision"] ?? .null,
          "input": ["type": "localAuth", "passcode": .string(ConfirmFixture.passcode)],
          "waitMs": 15_000,
        ]))
    guard try finished(end)["status"] == "succeeded" else {
      throw TestError("not there: \(end.text)")
    }
  }

  /// What a subscription hears of next, of this topic.
  func event() throws -> JSONValue {
    while true {
      let message = try next()
      if message["method"] == "events.notify" { return message["params"]?["event"] ?? .null }
    }
  }
}
