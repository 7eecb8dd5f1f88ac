import JSONRPC
import UsherTestKit

/// Somebody who registers, with what the app knows of them.
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
  /// Asks for a number; returns the flow where the person types it, or its end.
  ///
  /// - Parameter channel: `email` or `sms`.
  func verifyContact(
    _ person: BSAPerson = .alice, by channel: String = "email", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    try start(
      "verifyContact",
      ["sendType": .string(channel), "sendTarget": .string(person.contact(channel))] + more)
  }

  /// The flow when another number was sent, as soon as it may be asked for.
  func resent(_ flow: JSONValue) throws -> JSONValue {
    var flow = flow
    try eventually("another number is sent") {
      flow = try resend(flow)
      return flow.problem[0] != "too_early"
    }
    return flow
  }

  /// The handle of a contact that the person has proven.
  func disposeToken(
    of person: BSAPerson = .alice, by channel: String = "email"
  ) throws -> String {
    let flow = try verifyContact(person, by: channel)
    let end = try enter(number(to: person.contact(channel)), to: flow)
    guard end["status"] == "succeeded", let token = end["result"]?["disposeToken"]?.stringValue
    else { throw TestError("not verified: \(end.text)") }
    return token
  }

  /// Starts a registration whose contact is proven; returns it where the person is to prove to be
  /// there, or at its end.
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

  /// The whole way, to its good end.
  @discardableResult
  func registered(
    _ person: BSAPerson = .alice, authType: String = "passcode", by channel: String = "email",
    _ more: JSONValue = [:]
  ) throws -> JSONValue {
    var flow = try registering(person, authType: authType, by: channel, more)
    if flow.stepType == "localAuth" { flow = try prove(flow) }
    guard flow["status"] == "succeeded" else { throw TestError("not registered: \(flow.text)") }
    return flow
  }

  /// The account of a person who has registered elsewhere, or whose sign-up's answer was lost, with
  /// this machine's device.
  func reregistered(_ person: BSAPerson = .alice) throws -> JSONValue {
    var flow = try start("reregisterDevice", person.deviceParams())
    flow = try enter(number(to: person.email), to: flow)
    if flow.stepType == "localAuth" { flow = try prove(flow) }
    guard flow["status"] == "succeeded" else {
      throw TestError("not registered anew: \(flow.text)")
    }
    return try account(flow.account)
  }
}
