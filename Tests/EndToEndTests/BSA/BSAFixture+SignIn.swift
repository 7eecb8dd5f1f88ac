import Foundation
import JSONRPC
import UsherTestKit

// A person at a site, and the flow that signs the person in.

extension BSAFixture {
  /// Starts a sign-in at a site and returns its id.
  ///
  /// - Parameters:
  ///   - way: `push`, `qr`, `otp` or `totp`.
  ///   - number: The number that the person types, for `otp` and `totp`.
  ///   - client: `acme`, the app's client, or `other`.
  func visit(
    _ way: String = "push", number: String? = nil, client: String = "acme"
  ) throws -> String {
    let reply = try askSite(way, number, client)
    guard reply.status == 201, let id = reply.body["id"]?.stringValue else {
      throw TestError("the site did not start the sign-in: \(reply.body.text)")
    }
    return id
  }

  /// Starts a sign-in at a site; returns the rtCode of the refusal, or nil if it started.
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

  /// Returns a sign-in's state at the site.
  func atSite(_ visit: String) throws -> JSONValue {
    try sandbox.control("GET", "bsa/signIns/\(visit)")
  }

  /// Cancels a sign-in at the site.
  func leave(_ visit: String) throws {
    let reply = try Web.post("\(sandbox.bsa)/site/\(visit)", form: ["action": "cancel"])
    guard reply.status == 303 else {
      throw TestError("the site did not cancel the sign-in: \(reply.text)")
    }
  }

  /// Returns the id in the site's QR code.
  func qrID(_ visit: String) throws -> String { try atSite(visit)["qrId"]?.stringValue ?? "" }

  /// Returns the user key of a token's owner, or the rtCode of the refusal.
  ///
  /// - Parameter authorization: The value of the header `Authorization`.
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
  /// Starts a sign-in and returns it without waiting.
  func authenticate(_ way: String? = nil, _ more: JSONValue = [:]) throws -> JSONValue {
    var params = more
    params["by"] = way.map { .string($0) }
    return try begin("authenticate", params)
  }

  /// Waits until the flow is in a state.
  func standing(_ flow: JSONValue, at state: String) throws -> JSONValue {
    try moved(flow, "is at \(state)") { $0.state == state }
  }

  /// Waits until the flow has a step of a type.
  func asked(_ flow: JSONValue, for type: String = "localAuth") throws -> JSONValue {
    try moved(flow, "asks for \(type)") { $0.stepType == type }
  }

  /// Approves by passcode the sign-in that a site starts while the flow shows a number.
  func approved(_ flow: JSONValue) throws -> JSONValue { try prove(asked(flow)) }

  /// Starts a push sign-in and a visit at a site; returns the flow at its `localAuth` step.
  ///
  /// - Parameter account: The account to sign in; nil: the only one.
  func pushed(as account: JSONValue? = nil) throws -> (flow: JSONValue, visit: String) {
    let more: JSONValue = account.map { ["account": $0] } ?? [:]
    let flow = try standing(authenticate("push", more), at: "pending")
    let visit = try visit()
    return (try asked(flow), visit)
  }

  /// Signs in by push; throws unless the flow succeeds.
  @discardableResult
  func signedIn() throws -> JSONValue {
    let end = try app.finished(prove(pushed().flow))
    guard end["status"] == "succeeded" else {
      throw TestError("the sign-in did not succeed: \(end.text)")
    }
    return end
  }
}

// MARK: - Tokens and codes

extension BSAFixture {
  func token(of account: JSONValue?) throws -> JSONValue {
    try app.call("token.get", ["account": account ?? .null])
  }

  func code(of account: JSONValue? = nil) throws -> JSONValue {
    try app.call("totp.code", account.map { ["account": $0] } ?? ["provider": "bsa"])
  }

  /// Returns the current code of the TOTP secret that the provider issued last.
  func numberOfSecret(_ person: BSAPerson = .alice) throws -> String {
    try registration(person.userKey)?["totp"]?.stringValue ?? ""
  }
}

extension JSONValue {
  var account: JSONValue? { self["result"]?["account"] }

  /// The code that a `displayCode` step shows.
  var shown: String { self["step"]?["userCode"]?.stringValue ?? "" }

  /// The code of `totp.code`.
  var code: String { self["code"]?.stringValue ?? "" }
}
