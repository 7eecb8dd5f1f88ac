import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

typealias DrivenRegister = DrivenBSA<BSARegister>
typealias DrivenReregister = DrivenBSA<BSAReregisterDevice>

extension DrivenBSA where Machine == BSARegister {
  static func params(
    _ change: (inout BSARegister.Params) -> Void = { _ in }
  ) -> BSARegister.Params {
    var params = BSARegister.Params(
      .init(
        email: BSAParts.email, phoneNumber: BSAParts.phone, userKey: BSAParts.userKey,
        name: "Ada Lovelace", authType: .passcode, agreeGccs: true, agreePerson: true,
        agreeDevice: true),
      .init())
    change(&params)
    return params
  }

  init(
    origin: FlowContext<BSASettings> = BSAParts.origin(),
    _ change: (inout BSARegister.Params) -> Void = { _ in }
  ) throws {
    try self.init(Self.params(change), origin)
  }

  /// Returns a flow with a handle of a `verifyContact`: its first step is local authentication.
  static func handled(
    _ change: (inout BSARegister.Params) -> Void = { _ in },
    settings: (inout BSASettings) -> Void = { _ in }
  ) throws -> DrivenRegister {
    try DrivenRegister(origin: BSAParts.origin(handoffSecrets: [BSAParts.kept()], settings)) {
      $0.disposeToken = WireSecret(BSAParts.handle)
      change(&$0)
    }
  }

  /// Returns a flow whose sign-up call is in progress.
  static func signingUp(
    _ change: (inout BSARegister.Params) -> Void = { _ in }
  ) throws -> DrivenRegister {
    var driven = try handled(change)
    driven.prove()
    return driven
  }
}

extension DrivenBSA where Machine == BSAReregisterDevice {
  init(
    _ channel: BSAContact.Channel = .email, origin: FlowContext<BSASettings> = BSAParts.origin(),
    _ change: (inout BSAReregisterDevice.Params) -> Void = { _ in }
  ) throws {
    var params = BSAReregisterDevice.Params(
      .init(
        userKey: BSAParts.userKey, name: "Ada Lovelace", verifyBy: channel,
        verifyData: BSAParts.contact(channel).target),
      .init())
    change(&params)
    try self.init(params, origin)
  }

  /// Returns a flow that has sent a verification code and waits for it.
  static func sent(
    _ type: JSONValue = 4, settings: (inout BSASettings) -> Void = { _ in }
  ) throws -> DrivenReregister {
    var driven = try DrivenReregister(origin: BSAParts.origin(settings))
    driven.said(["result": true, "authType": type])
    return driven
  }

  /// Returns a flow whose call that replaces the other device is in progress.
  static func replacing() throws -> DrivenReregister {
    var driven = try sent()
    driven.type()
    driven.verified()
    driven.prove()
    return driven
  }
}
