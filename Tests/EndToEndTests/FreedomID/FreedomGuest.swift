import Foundation
import JSONRPC
import UsherTestKit

/// Somebody with a Freedom ID, who signs in by one of the three ways.
struct FreedomGuest {
  enum Way: String { case phoneOTP, emailPassword, phonePassword }

  var name: String
  var way = Way.emailPassword

  static let alice = FreedomGuest(name: "alice")
  static let bob = FreedomGuest(name: "bob")
  /// Has the second factor switched on, by SMS.
  static let aigerim = FreedomGuest(name: "aigerim")

  func by(_ way: Way) -> FreedomGuest { FreedomGuest(name: name, way: way) }

  var email: String { "\(name)@example.com" }
  var password: String { "\(name)-password" }

  var phone: String {
    ["alice": "+447700900123", "bob": "+447700900456", "aigerim": "+77011234567"][name] ?? ""
  }

  /// What an app shows in the place of the name.
  var label: String { "\(phone.prefix(2)) ••• \(phone.suffix(2))" }
}

// MARK: - What a person does at each step

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

  /// What somebody answers who wants to sign in and to grant.
  ///
  /// - Parameter granted: Nil: all that is asked.
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
    default: throw TestError("no answer to \(flow.text)")
    }
  }

  private func code(for guest: FreedomGuest, _ step: JSONValue) throws -> String {
    guard step["channel"] == "totp" else { return try code() }
    return try person(guest.name)["totp"]?.stringValue ?? ""
  }

  /// Goes on until something holds, or to the end.
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

  /// A flow that stands at a step of this type.
  func standing(
    at type: String, _ grants: [String] = ["read.firstname"], _ guest: FreedomGuest = .alice
  ) throws -> JSONValue {
    let flow = try walk(authorize(grants), guest) { $0.stepType == type }
    guard flow.stepType == type else { throw TestError("not at \(type): \(flow.text)") }
    return flow
  }

  /// The whole way, to its good end.
  @discardableResult
  func authorized(
    _ grants: [String], _ guest: FreedomGuest = .alice, granting granted: [String]? = nil
  ) throws -> JSONValue {
    let end = try walk(authorize(grants), guest, granting: granted)
    guard end["status"] == "succeeded" else { throw TestError("not authorized: \(end.text)") }
    return end
  }
}
