import JSONRPC
import UsherCore

/// A number that is to be verified, and for which app.
struct PhoneRequest: Sendable, Equatable {
  var phone: String
  var countryCode: String
  var app: App?

  /// What the SDK was set up with.
  struct App: Sendable, Equatable {
    var key: Secret
    var link: String
  }

  /// As it was typed: what is the same number in another writing is a new verification.
  func isSameNumber(as other: PhoneRequest) -> Bool {
    phone == other.phone && countryCode.uppercased() == other.countryCode.uppercased()
  }

  var withoutApp: PhoneRequest { PhoneRequest(phone: phone, countryCode: countryCode) }

  var params: JSONValue {
    .params([
      "phoneNumber": .string(phone), "countryCode": .string(countryCode),
      "appKey": .text(app?.key.revealed()), "appLink": .text(app?.link),
    ])
  }
}
