import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

typealias DrivenContact = DrivenBSA<BSAVerifyContact>

extension DrivenBSA where Machine == BSAVerifyContact {
  init(
    _ channel: BSAContact.Channel = .email,
    settings change: (inout BSASettings) -> Void = { _ in }
  ) throws {
    try self.init(
      .init(sendType: channel, sendTarget: BSAParts.contact(channel).target),
      BSAParts.origin(change))
  }

  /// The person has the number.
  static func sent(_ channel: BSAContact.Channel = .email) throws -> DrivenContact {
    var driven = try DrivenContact(channel)
    driven.said()
    return driven
  }

  /// The number is being looked at.
  static func verifying(_ channel: BSAContact.Channel = .email) throws -> DrivenContact {
    var driven = try sent(channel)
    driven.type()
    return driven
  }
}

extension DrivenBSA {
  mutating func type(_ number: Secret = BSAParts.number, at time: Timestamp = now) {
    say(.code(number, fields: [:]), at: time)
  }

  /// The number is right.
  mutating func verified(at time: Timestamp = now) {
    said(["result": true, "disposeToken": "dispose-secret"], at: time)
  }

  /// The provider says that it is not.
  mutating func wrong() { said(["result": false]) }
}
