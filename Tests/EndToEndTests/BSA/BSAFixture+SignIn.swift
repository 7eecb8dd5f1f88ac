import Foundation
import JSONRPC
import UsherTestKit

// A person at a site, and the flow that signs in there.

extension BSAFixture {
  /// Begins a sign-in at a site; returns its id.
  ///
  /// - Parameters:
  ///   - way: `push`, `qr`, `otp` or `totp`.
  ///   - number: What the person types, by the last two.
  ///   - client: `acme`, or `other`, which the app does not belong to.
  func visit(
    _ way: String = "push", number: String? = nil, client: String = "acme"
  ) throws -> String {
    let reply = try askSite(way, number, client)
    guard reply.status == 201, let id = reply.body["id"]?.stringValue else {
      throw TestError("the site refuses: \(reply.body.text)")
    }
    return id
  }

  /// The rtCode with which the site refuses to begin one; nil where it begins.
  func refusalAtSite(_ way: String, number: String?) throws -> String? {
    let reply = try askSite(way, number, "acme")
    return reply.status == 201 ? nil : reply.body["error"]?.stringValue
  }

  private func askSite(
    _ way: String, _ number: String?, _ client: String
  ) throws -> (status: Int, body: JSONValue) {
    var body: JSONValue = ["by": .string(way), "client": .string(client)]
    body["number"] = number.map { .string($0) }
    let reply = try Web.send(
      "POST", "\(sandbox.base)/_control/bsa/signIns", json: body.encoded())
    return (reply.status, try JSONValue(parsing: reply.body))
  }

  /// How a sign-in stands, as the site knows it.
  func atSite(_ visit: String) throws -> JSONValue {
    try sandbox.control("GET", "bsa/signIns/\(visit)")
  }

  /// The person gives it up there.
  func leave(_ visit: String) throws {
    let reply = try Web.post("\(sandbox.bsa)/site/\(visit)", form: ["action": "cancel"])
    guard reply.status == 303 else { throw TestError("no way to leave: \(reply.text)") }
  }

  /// What the QR code shows there.
  func qrID(_ visit: String) throws -> String { try atSite(visit)["qrId"]?.stringValue ?? "" }

  /// Whose a sign-in's token is; else the rtCode.
  ///
  /// - Parameter authorization: The header, as it is.
  func owner(of authorization: String) throws -> String {
    let reply = try Web.send(
      "GET", "\(sandbox.bsa)/me", headers: ["Authorization": authorization])
    let envelope = try JSONValue(parsing: reply.body)
    return envelope["data"]?["userKey"]?.stringValue
      ?? "\(envelope["rtCode"]?.integerValue ?? -1)"
  }
}

// MARK: - The flow

extension BSAFixture {
  /// Starts a sign-in and waits for nothing.
  func authenticate(_ way: String? = nil, _ more: JSONValue = [:]) throws -> JSONValue {
    var params = more
    params["by"] = way.map { .string($0) }
    return try begin("authenticate", params)
  }

  /// The flow as soon as it stands there.
  func standing(_ flow: JSONValue, at state: String) throws -> JSONValue {
    try moved(flow, "is at \(state)") { $0.state == state }
  }

  /// The flow as soon as it shows a step of this type.
  func asked(_ flow: JSONValue, for type: String = "localAuth") throws -> JSONValue {
    try moved(flow, "asks for \(type)") { $0.stepType == type }
  }

  /// The person says yes to the site that wants a sign-in while a number is shown.
  func approved(_ flow: JSONValue) throws -> JSONValue { try prove(asked(flow)) }

  /// A sign-in that a site has begun, where the person is to prove to be there.
  ///
  /// - Parameter account: Nil: the only one.
  func pushed(as account: JSONValue? = nil) throws -> (flow: JSONValue, visit: String) {
    let more: JSONValue = account.map { ["account": $0] } ?? [:]
    let flow = try standing(authenticate("push", more), at: "pending")
    let visit = try visit()
    return (try asked(flow), visit)
  }

  /// The whole way by push, to its good end.
  @discardableResult
  func signedIn() throws -> JSONValue {
    let end = try app.finished(prove(pushed().flow))
    guard end["status"] == "succeeded" else { throw TestError("not signed in: \(end.text)") }
    return end
  }
}

// MARK: - What is told

extension BSAFixture {
  func token(of account: JSONValue?) throws -> JSONValue {
    try app.call("token.get", ["account": account ?? .null])
  }

  func code(of account: JSONValue? = nil) throws -> JSONValue {
    try app.call("totp.code", account.map { ["account": $0] } ?? ["provider": "bsa"])
  }

  /// The number that the secret which the provider gave last makes now.
  func numberOfSecret(_ person: BSAPerson = .alice) throws -> String {
    try registration(person.userKey)?["totp"]?.stringValue ?? ""
  }
}

extension JSONValue {
  var account: JSONValue? { self["result"]?["account"] }

  /// What a `displayCode` step shows.
  var shown: String { self["step"]?["userCode"]?.stringValue ?? "" }

  /// The code of `totp.code`.
  var code: String { self["code"]?.stringValue ?? "" }

  /// A moment among its members.
  func time(_ name: String) throws -> Date {
    guard let text = self[name]?.stringValue,
      let time = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
    else { throw TestError("no time \(name) in \(self.text)") }
    return time
  }
}

/// Runs what takes long by waiting on a thread of its own, so that other tests go on meanwhile.
///
/// It stays in its task: what it expects is expected by its test.
func aside(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await BlockingThreads.run(body)
}
