import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

typealias DrivenSignIn = DrivenBSA<BSAAuthenticate>

extension DrivenBSA where Machine == BSAAuthenticate {
  static var site: Sealed<Secret> { Sealed(Secret("site-key-secret")) }
  static var channel: Secret { Secret("channel-secret") }
  /// The one-time code that the flow shows and that the user types at the site.
  static var shown: Secret { Secret("482613") }

  static var exists: BSACall { .exists(device: BSAParts.device, userKey: BSAParts.userKey) }
  static var generate: BSACall {
    .generateNumber(userKey: BSAParts.userKey, device: BSAParts.device)
  }

  /// The data of an `auth_exist` reply when a site waits for a sign-in.
  static var wish: JSONValue {
    [
      "isExist": true, "clientKey": "site-key-secret", "siteURL": "https://shop.example.com",
      "timeout": 30_000,
    ]
  }

  static func origin(
    _ word: String? = "PASSCODE", settings change: (inout BSASettings) -> Void = { _ in }
  ) -> FlowContext<BSASettings> {
    var origin = BSAParts.origin(change)
    origin.account = KnownAccount(id: BSAParts.account, subject: BSAParts.userKey)
    origin.attributes = [
      "userKey": .string(BSAParts.userKey), "deviceId": .string(BSAParts.device),
    ]
    origin.attributes["localAuthType"] = word.map { .string($0) }
    return origin
  }

  init(
    _ way: BSAAuthenticate.Way? = nil, qrID: String? = nil, knownBy word: String? = "PASSCODE",
    settings change: (inout BSASettings) -> Void = { _ in }
  ) throws {
    try self.init(
      .init(by: way, qrId: qrID), Self.origin(word, settings: change))
  }

  /// Returns a flow whose call that opens the channel is in progress, for an account that is
  /// registered with a passcode, or without local authentication.
  static func starting(
    _ way: BSAAuthenticate.Way, isProved: Bool = true,
    settings change: (inout BSASettings) -> Void = { _ in }
  ) throws -> DrivenSignIn {
    var driven = try DrivenSignIn(
      way, qrID: way == .qr ? "qr-1" : nil, knownBy: isProved ? "PASSCODE" : "NONE",
      settings: change)
    if way == .push { driven.said(wish) }
    if isProved { driven.prove() }
    switch way {
    case .push, .qr: break
    case .otp:
      driven.said("482613")
      driven.said(wish)
    case .totp:
      driven.answer(.code(shown, until: now + .seconds(40)))
      driven.said(wish)
    }
    if isProved, way == .otp || way == .totp { driven.prove() }
    return driven
  }

  static func completing(
    _ way: BSAAuthenticate.Way = .push, isProved: Bool = true,
    settings change: (inout BSASettings) -> Void = { _ in }
  ) throws -> DrivenSignIn {
    var driven = try starting(way, isProved: isProved, settings: change)
    driven.said(["channelKey": "channel-secret", "blockKey": "x"])
    return driven
  }

  /// Returns a flow whose call that fetches the token is in progress.
  static func fetching(_ way: BSAAuthenticate.Way = .push) throws -> DrivenSignIn {
    var driven = try completing(way)
    driven.said()
    return driven
  }

  /// Returns a flow that shows a one-time code.
  static func showing(_ way: BSAAuthenticate.Way) throws -> DrivenSignIn {
    var driven = try DrivenSignIn(way)
    driven.prove()
    if way == .otp {
      driven.said("482613")
    } else {
      driven.answer(.code(shown, until: now + .seconds(40)))
    }
    return driven
  }

  /// Returns the parameters that identify a sign-in of this kind at the provider.
  static func visit(_ way: BSAAuthenticate.Way) -> BSASignInSession {
    switch way {
    case .push, .otp, .totp: BSASignInSession(device: BSAParts.device, site: site)
    case .qr: BSASignInSession(device: BSAParts.device, qrID: "qr-1")
    }
  }

  var displayCode: Step.DisplayCode? {
    if case .displayCode(let step) = step { step } else { nil }
  }
}
