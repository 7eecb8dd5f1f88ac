import JSONRPC
import UsherAPI
import UsherCore

/// A phone number to verify, with the app installation on whose behalf it is verified.
struct PhoneClaim: Codable, Sendable, Equatable {
  let number: PhoneNumber
  /// A UUID of the owner's installation of an app, as in Truecaller's SDK. Truecaller's server
  /// recognizes earlier verifications by it.
  let installation: String
  /// The key by which clients find the flow again; nil in a flow that an earlier version started.
  var key: String?
  /// The name that the user entered together with an earlier code.
  ///
  /// If the reply to that code was lost, the server may have accepted the code. Then the name still
  /// has to be written to the profile.
  var name: TruecallerName?

  var create: TruecallerCall { .create(number, installation: installation) }
}

/// A code that Truecaller has sent to the user, and the token that verifies it.
struct PhoneChallenge: Codable, Sendable, Equatable {
  let token: Sealed<Secret>
  let expiresAt: Timestamp

  func step(_ number: PhoneNumber, digits: Int) -> Step.EnterCode {
    let maxLength = TruecallerName.maxLength
    return .init(
      purpose: .otp, channel: "sms", maskedTarget: number.masked, digits: digits,
      expiresAt: expiresAt, resendAt: expiresAt,
      alsoAsk: [
        Field(name: "firstName", type: .text, required: true, maxLength: maxLength),
        Field(name: "lastName", type: .text, required: false, maxLength: maxLength),
      ])
  }

  /// Applies the reply to a verify call. Most replies have neither token nor TTL, so an absent
  /// value keeps the previous one (provider contract §1.3 item 2; §10, trap 1).
  func merging(_ members: [String: JSONValue], at now: Timestamp) -> PhoneChallenge {
    PhoneChallenge(
      token: members.verificationToken ?? token,
      expiresAt: members.timeToLive.map { now + $0 } ?? expiresAt)
  }

  /// Returns the challenge as expired at this time, because the server says so. Then another code
  /// can be requested.
  func over(at now: Timestamp) -> PhoneChallenge {
    PhoneChallenge(token: token, expiresAt: min(expiresAt, now))
  }
}

/// The content of a successful reply to the call create, which requests a code (provider contract
/// §1.3 item 1).
enum CreateReply: Equatable {
  case sent(PhoneChallenge)
  case verifiedBefore(Secret)
  /// The reply has a form that the SDK does not define. The message is a user-facing sentence.
  case unusable(String)

  /// The lifetime of a code if the server does not state one.
  static let defaultTTL = Duration.seconds(60)

  init(_ members: [String: JSONValue], at now: Timestamp) {
    if members["method"]?.stringValue == "sms" {
      guard let token = members.verificationToken else {
        self = .unusable("the provider has sent a code, but no token to verify it with")
        return
      }
      self = .sent(
        PhoneChallenge(token: token, expiresAt: now + (members.timeToLive ?? Self.defaultTTL)))
    } else if members["status"]?.numberValue == 1, let token = members.accessToken {
      self = .verifiedBefore(token)
    } else {
      self = .unusable("the provider has neither sent a code nor verified the number before")
    }
  }
}

/// What a refused verify call means for the flow.
enum VerifyRefusal: Equatable {
  case wrongCode
  case expired
  case failure(Failure)
}

extension TruecallerRefusal {
  func ofCreate(_ provider: ProviderName) -> Failure {
    switch status {
    case 400: .refused(.badRequest, self, provider)
    case 401, 403: .refused(.unauthorizedDeveloper, self, provider)
    case 429: .capped(self, provider)
    default: .refused(.internal, self, provider)
    }
  }

  /// Returns the meaning of a refused code. Truecaller documents no list, so any status without a
  /// known meaning counts as a wrong code.
  func ofVerify(_ provider: ProviderName) -> VerifyRefusal {
    switch status {
    case 401, 403: .failure(.refused(.unauthorizedDeveloper, self, provider))
    case 410: .expired
    case 429: .failure(.capped(self, provider))
    default: .wrongCode
    }
  }
}

extension String {
  static let neitherYesNorNo = "the provider neither accepts nor refuses the code"
}

extension [String: JSONValue] {
  /// The access token of a reply. It is sent in a header and a path, so only visible ASCII is
  /// accepted (RFC 6749 appendix A.12).
  var accessToken: Secret? { self["accessToken"]?.visibleText(upTo: 8192).map { Secret($0) } }

  fileprivate var verificationToken: Sealed<Secret>? {
    guard let text = self["verificationToken"]?.stringValue, (1...8192).contains(text.utf8.count),
      // A masked value is a repetition of the token that was sent, which stays valid.
      text != HTTPReply.echo
    else { return nil }
    return Sealed(Secret(text))
  }

  /// `tokenTtl` of a reply, from one second to one day; nil if it is not usable.
  fileprivate var timeToLive: Duration? {
    guard let time = self["tokenTtl"]?.lifetime, time >= .seconds(1) else { return nil }
    return Swift.min(time, .seconds(86_400))
  }
}
