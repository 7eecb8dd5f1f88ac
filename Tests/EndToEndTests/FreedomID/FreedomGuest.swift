import Foundation
import JSONRPC
import UsherTestKit

/// A person with a Freedom ID, and the way by which the person signs in.
struct FreedomGuest {
  enum Way: String { case phoneOTP, emailPassword, phonePassword }

  var name: String
  var way = Way.emailPassword

  static let alice = FreedomGuest(name: "alice")
  static let bob = FreedomGuest(name: "bob")
  /// Has a second factor by SMS.
  static let aigerim = FreedomGuest(name: "aigerim")

  func by(_ way: Way) -> FreedomGuest { FreedomGuest(name: name, way: way) }

  var email: String { "\(name)@example.com" }
  var password: String { "\(name)-password" }

  var phone: String {
    ["alice": "+447700900123", "bob": "+447700900456", "aigerim": "+77011234567"][name] ?? ""
  }

  /// The masked phone number, which labels the account.
  var label: String { "\(phone.prefix(2)) ••• \(phone.suffix(2))" }
}

// MARK: - Answers to the steps

extension FreedomFixture {
  func choose(_ id: String, at flow: JSONValue) throws -> JSONValue {
    try submit(["type": "choose", "id": .string(id)], to: flow)
  }

  func fill(_ name: String, _ value: String, at flow: JSONValue) throws -> JSONValue {
    try submit(["type": "fillForm", "fields": [name: .string(value)]], to: flow)
  }

  func enter(password: String, at flow: JSONValue) throws -> JSONValue {
    try submit(["type": "enterPassword", "password": .string(password)], to: flow)
  }

  func enter(code: String, at flow: JSONValue) throws -> JSONValue {
    try submit(["type": "enterCode", "code": .string(code)], to: flow)
  }

  func prove(_ passcode: String = passcode, at flow: JSONValue) throws -> JSONValue {
    try submit(["type": "localAuth", "passcode": .string(passcode)], to: flow)
  }

  func grant(_ grants: [String], at flow: JSONValue) throws -> JSONValue {
    try submit(
      ["type": "consent", "granted": .array(grants.map { .string($0) })], to: flow)
  }

  func deny(_ flow: JSONValue) throws -> JSONValue {
    try submit(["type": "consent", "denied": true], to: flow)
  }

  func back(_ flow: JSONValue) throws -> JSONValue {
    try submit(["type": .string(flow.stepType ?? ""), "back": true], to: flow)
  }

  /// Returns the answer to the flow's step that signs the guest in and grants.
  ///
  /// - Parameter granted: The grants to give; nil: all that the step asks for.
  func answer(
    to flow: JSONValue, _ guest: FreedomGuest = .alice, granting granted: [String]? = nil
  ) throws -> JSONValue {
    let step = flow["step"] ?? .null
    switch flow.stepType {
    case "choose" where step["what"] == "loginMethod":
      return ["type": "choose", "id": .string(guest.way.rawValue)]
    case "choose":
      let mine = zip(flow.options, flow.labels).first { $0.1 == guest.label }?.0 ?? "other"
      return ["type": "choose", "id": .string(mine)]
    case "fillForm":
      let fields: JSONValue =
        guest.way == .emailPassword
        ? ["email": .string(guest.email)] : ["phone": .string(guest.phone)]
      return ["type": "fillForm", "fields": fields]
    case "enterPassword":
      return ["type": "enterPassword", "password": .string(guest.password)]
    case "enterCode": return ["type": "enterCode", "code": .string(try code(for: guest, step))]
    case "localAuth": return ["type": "localAuth", "passcode": .string(Self.passcode)]
    case "consent":
      let asked = step["grants"]?.arrayValue?.compactMap { $0["id"] } ?? []
      return ["type": "consent", "granted": .array(granted?.map { .string($0) } ?? asked)]
    default: throw TestError("the guest has no answer to this step: \(flow.text)")
    }
  }

  private func code(for guest: FreedomGuest, _ step: JSONValue) throws -> String {
    guard step["channel"] == "totp" else { return try code() }
    return try person(guest.name)["totp"]?.stringValue ?? ""
  }

  /// Answers step after step until a condition holds, or to the end.
  func walk(
    _ flow: JSONValue, _ guest: FreedomGuest = .alice, granting granted: [String]? = nil,
    until holds: (JSONValue) -> Bool = { _ in false }
  ) throws -> JSONValue {
    var flow = flow
    for _ in 0..<20 where flow["status"] == "active" && !holds(flow) {
      flow = try submit(answer(to: flow, guest, granting: granted), to: flow)
    }
    return flow
  }

  /// Starts an authorization and returns it at a step of a type.
  func standing(
    at type: String, _ grants: [String] = ["read.firstname"], _ guest: FreedomGuest = .alice
  ) throws -> JSONValue {
    let flow = try walk(authorize(grants), guest) { $0.stepType == type }
    guard flow.stepType == type else {
      throw TestError("the flow did not reach the step \(type): \(flow.text)")
    }
    return flow
  }

  /// Completes an authorization; throws unless it succeeds.
  @discardableResult
  func authorized(
    _ grants: [String], _ guest: FreedomGuest = .alice, granting granted: [String]? = nil
  ) throws -> JSONValue {
    let end = try walk(authorize(grants), guest, granting: granted)
    guard end["status"] == "succeeded" else {
      throw TestError("the authorization did not succeed: \(end.text)")
    }
    return end
  }
}
