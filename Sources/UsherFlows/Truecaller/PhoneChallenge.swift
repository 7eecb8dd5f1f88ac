import JSONRPC
import UsherAPI
import UsherCore

/// A number, and who says that it is his.
struct PhoneClaim: Codable, Sendable, Equatable {
  let number: PhoneNumber
  /// A UUID of the owner's own: by it the server knows who has verified what before.
  let installation: String
  /// Typed together with a code that was handed in. The server may have taken that code though its
  /// answer never came: then the name is still to be written.
  var name: TruecallerName?

  var create: TruecallerCall { .create(number, installation: installation) }
}

/// A code that is on its way to a person.
struct PhoneChallenge: Codable, Sendable, Equatable {
  let token: Sealed<Secret>
  let expiresAt: Timestamp

  func step(_ number: PhoneNumber, digits: Int) -> Step.EnterCode {
    let longest = TruecallerName.longest
    return .init(
      purpose: .otp, channel: "sms", maskedTarget: number.masked, digits: digits,
      expiresAt: expiresAt, resendAt: expiresAt,
      alsoAsk: [
        Field(name: "firstName", type: .text, required: true, maxLength: longest),
        Field(name: "lastName", type: .text, required: false, maxLength: longest),
      ])
  }

  /// An answer of verify takes the place of create's, and most have neither token nor TTL: what is
  /// not said anew stays (contract §1.3 item 2; §10, trap 1).
  func merging(_ members: [String: JSONValue], at now: Timestamp) -> PhoneChallenge {
    PhoneChallenge(
      token: members.verificationToken ?? token,
      expiresAt: members.timeToLive.map { now + $0 } ?? expiresAt)
  }

  /// The server says that its time is over: another may be asked for.
  func over(at now: Timestamp) -> PhoneChallenge {
    PhoneChallenge(token: token, expiresAt: min(expiresAt, now))
  }
}

/// What a yes to create says (contract §1.3 item 1).
enum CreateReply: Equatable {
  case sent(PhoneChallenge)
  case verifiedBefore(Secret)
  /// What the SDK says nothing about; a sentence for people.
  case unusable(String)

  /// Where the server does not say how long a code is good.
  static let usualTTL = Duration.seconds(60)

  init(_ members: [String: JSONValue], at now: Timestamp) {
    if members["method"]?.stringValue == "sms" {
      guard let token = members.verificationToken else {
        self = .unusable("the provider has sent a code, but nothing to verify it with")
        return
      }
      self = .sent(
        PhoneChallenge(token: token, expiresAt: now + (members.timeToLive ?? Self.usualTTL)))
    } else if members["status"]?.numberValue == 1, let token = members.accessToken {
      self = .verifiedBefore(token)
    } else {
      self = .unusable("the provider has neither sent a code nor verified the number before")
    }
  }
}

/// What a no to verify means for the flow.
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

  /// The vendor publishes no list: what is not known to mean something else is a wrong code.
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
  /// It will stand in a header and in a path: visible ASCII only (RFC 6749 appendix A.12).
  var accessToken: Secret? {
    guard let text = self["accessToken"]?.stringValue, (1...8192).contains(text.utf8.count),
      text.utf8.allSatisfy(\.isVisible)
    else { return nil }
    return Secret(text)
  }

  fileprivate var verificationToken: Sealed<Secret>? {
    guard let text = self["verificationToken"]?.stringValue, (1...8192).contains(text.utf8.count),
      // The one that was sent, said again: it stays in force.
      text != HTTPReply.echo
    else { return nil }
    return Sealed(Secret(text))
  }

  /// `tokenTtl`: from a second to a day; nil where nothing usable is said.
  fileprivate var timeToLive: Duration? {
    guard let time = self["tokenTtl"]?.lifetime, time >= .seconds(1) else { return nil }
    return Swift.min(time, .seconds(86_400))
  }
}
