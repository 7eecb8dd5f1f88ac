import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

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

  /// Returns a flow that has sent a verification code and waits for it.
  static func sent(_ channel: BSAContact.Channel = .email) throws -> DrivenContact {
    var driven = try DrivenContact(channel)
    driven.said()
    return driven
  }

  /// Returns a flow whose call that verifies the typed code is in progress.
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

  /// Delivers the reply that accepts the code.
  mutating func verified(at time: Timestamp = now) {
    said(["result": true, "disposeToken": "dispose-secret"], at: time)
  }

  /// Delivers the reply that rejects the code.
  mutating func wrong() { said(["result": false]) }
}
