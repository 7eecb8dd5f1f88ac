import JSONRPC
import UsherTestKit

/// A person who registers, with the data that the app passes on.
struct BSAPerson: Sendable {
  var userKey: String
  var name: String
  var email: String
  var phoneNumber: String

  static let alice = BSAPerson(
    userKey: "alice.01", name: "Alice Adams", email: "alice@example.com",
    phoneNumber: "+447700900123")
  static let bob = BSAPerson(
    userKey: "bob.02", name: "Bob Brown", email: "bob@example.com",
    phoneNumber: "+447700900456")

  /// The parameters of `register`, with all agreements.
  func params(_ authType: String = "passcode") -> JSONValue {
    [
      "email": .string(email), "phoneNumber": .string(phoneNumber), "userKey": .string(userKey),
      "name": .string(name), "authType": .string(authType), "agreeGccs": true,
      "agreePerson": true, "agreeDevice": true,
    ]
  }

  /// The parameters of `reregisterDevice`.
  func deviceParams(by channel: String = "email") -> JSONValue {
    [
      "userKey": .string(userKey), "name": .string(name), "verifyBy": .string(channel),
      "verifyData": .string(contact(channel)),
    ]
  }

  /// - Parameter channel: `email` or `sms`.
  func contact(_ channel: String) -> String { channel == "sms" ? phoneNumber : email }
}

extension BSAFixture {
  /// Starts `verifyContact` and returns it at the step that asks for the OTP, or at its end.
  ///
  /// - Parameter channel: `email` or `sms`.
  func verifyContact(
    _ person: BSAPerson = .alice, by channel: String = "email", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    try start(
      "verifyContact",
      ["sendType": .string(channel), "sendTarget": .string(person.contact(channel))] + more)
  }

  /// Has another OTP sent as soon as the flow permits it; returns the flow.
  func resent(_ flow: JSONValue) throws -> JSONValue {
    var flow = flow
    try eventually("the daemon sends another OTP") {
      flow = try resend(flow)
      return flow.problem[0] != "too_early"
    }
    return flow
  }

  /// Verifies a contact and returns the daemon's disposeToken for it.
  func disposeToken(
    of person: BSAPerson = .alice, by channel: String = "email"
  ) throws -> String {
    let flow = try verifyContact(person, by: channel)
    let end = try enter(number(to: person.contact(channel)), to: flow)
    guard end["status"] == "succeeded", let token = end["result"]?["disposeToken"]?.stringValue
    else { throw TestError("the contact was not verified: \(end.text)") }
    return token
  }

  /// Verifies a contact and starts `register`; returns the flow at `localAuth`, or at its end.
  func registering(
    _ person: BSAPerson = .alice, authType: String = "passcode", by channel: String = "email",
    _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let token = try disposeToken(of: person, by: channel)
    return try start(
      "register",
      person.params(authType) + ["disposeToken": .string(token), "verifyBy": .string(channel)]
        + more)
  }

  /// Registers a person; throws unless the flow succeeds.
  @discardableResult
  func registered(
    _ person: BSAPerson = .alice, authType: String = "passcode", by channel: String = "email",
    _ more: JSONValue = [:]
  ) throws -> JSONValue {
    var flow = try registering(person, authType: authType, by: channel, more)
    if flow.stepType == "localAuth" { flow = try prove(flow) }
    guard flow["status"] == "succeeded" else {
      throw TestError("the registration did not succeed: \(flow.text)")
    }
    return flow
  }

  /// Registers this machine's device for a person whom the provider has registered already; returns
  /// the account.
  func reregistered(_ person: BSAPerson = .alice) throws -> JSONValue {
    var flow = try start("reregisterDevice", person.deviceParams())
    flow = try enter(number(to: person.email), to: flow)
    if flow.stepType == "localAuth" { flow = try prove(flow) }
    guard flow["status"] == "succeeded" else {
      throw TestError("reregisterDevice did not succeed: \(flow.text)")
    }
    return try account(flow.account)
  }
}
